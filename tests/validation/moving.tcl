# The scenarios of moving.py for ns-2 2.35: ns moving.tcl TRANSPORT SEED prints rows of ns2_moving.csv.
#
# Two stations side by side, 280 m from a third, to which both send. From 5 to 15 s one of them walks past the third to
# the other side, 560 m from its neighbour, which is beyond carrier sense (550 m). Frames are read up to 345 m.
lassign $argv transport seed
set sim [new Simulator]
$defaultRNG seed $seed
$sim trace-all [open /dev/null w]
foreach {name value} {
    SlotTime_ 0.00002 SIFS_ 0.00001 CWMin_ 31 CWMax_ 1023 PreambleLength_ 144 PLCPHeaderLength_ 48
    PLCPDataRate_ 1Mb dataRate_ 11Mb basicRate_ 2Mb RTSThreshold_ 3000
} { Mac/802_11 set $name $value }
Phy/WirelessPhy set RXThresh_ 1e-10
set ground [new Topography]
$ground load_flatgrid 3000 3000
create-god 3
$sim node-config -adhocRouting DumbAgent -topoInstance $ground -channel [new Channel/WirelessChannel] -llType LL \
    -macType Mac/802_11 -phyType Phy/WirelessPhy -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
    -ifqType Queue/DropTail/PriQueue -ifqLen 50 -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
foreach {number x y} {0 720 1000 1 720 1005 2 1000 1000} {
    set node($number) [$sim node]
    $node($number) random-motion 0
    foreach {axis at} [list X_ $x Y_ $y Z_ 0] { $node($number) set $axis $at }
}
set random [new RNG]
foreach number {0 1} {
    if {$transport eq "udp"} {
        set source($number) [new Agent/UDP]
        set sink($number) [new Agent/LossMonitor]
        set load [new Application/Traffic/CBR]
        foreach {key value} {packetSize_ 1000 rate_ 8Mb random_ 1} { $load set $key $value }
    } else {
        set source($number) [new Agent/TCP/Newreno]
        foreach {key value} {packetSize_ 1000 window_ 20} { $source($number) set $key $value }
        set sink($number) [new Agent/TCPSink]
        set load [new Application/FTP]
    }
    $sim attach-agent $node($number) $source($number)
    $sim attach-agent $node(2) $sink($number)
    $sim connect $source($number) $sink($number)
    $load attach-agent $source($number)
    $sim at [$random uniform 0.1 0.2] "$load start"
}
$sim at 5 "$node(1) setdest 1280 1005 56"
proc arrived {number} {
    global transport source sink
    expr {$transport eq "udp" ? [$sink($number) set npkts_] : [$source($number) set ack_] + 1}
}
proc note {phase begins ends} {
    global before transport seed
    set now [list [arrived 0] [arrived 1]]
    set rates {}
    foreach then $before one $now { lappend rates [expr {8e-3 * ($one - $then) / ($ends - $begins)}] }
    lassign $rates first second
    puts "$transport,$phase,$seed,tot_mbps,[format %.5f [expr {$first + $second}]]"
    puts "$transport,$phase,$seed,least_share,[format %.5f [expr {min($first, $second) / ($first + $second)}]]"
}
foreach {phase begins ends} {beside 1 5 walking 5.5 14 hidden 16 46} {
    $sim at $begins { set before [list [arrived 0] [arrived 1]] }
    $sim at $ends "note $phase $begins $ends"
}
$sim at 46.1 { exit 0 }
$sim run
