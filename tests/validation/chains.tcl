# The chains of las for ns-2 2.35: ns chains.tcl EXPERIMENT SPACING WINDOW BUFFER RATE SEED ROUTES prints rows of ns2.csv.
#
# EXPERIMENT is fig2_5, chain_udp or chain_hidden; RATE, that of the UDP flows, is of chain_udp, which has a window and a
# buffer of 50. With ROUTES dsdv, routes change while flows run. With ROUTES stay, what DSDV has found after 200 s stays.
lassign $argv experiment spacing window buffer rate seed routes
set nodes [expr {$experiment eq "chain_hidden" ? 5 : 4}]
set begin [expr {$routes eq "stay" ? 200 : 60}]
set sim [new Simulator]
$defaultRNG seed $seed
$sim trace-all [open /dev/null w]
foreach {name value} {
    SlotTime_ 0.00002 SIFS_ 0.00001 CWMin_ 31 CWMax_ 1023 PreambleLength_ 144 PLCPHeaderLength_ 48
    PLCPDataRate_ 1Mb dataRate_ 11Mb basicRate_ 1Mb RTSThreshold_ 3000
} { Mac/802_11 set $name $value }
set ground [new Topography]
$ground load_flatgrid 3000 3000
create-god $nodes
$sim node-config -adhocRouting DSDV -topoInstance $ground -channel [new Channel/WirelessChannel] -llType LL \
    -macType Mac/802_11 -phyType Phy/WirelessPhy -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
    -ifqType Queue/DropTail/PriQueue -ifqLen $buffer -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
if {$routes eq "stay"} { Agent/DSDV set min_update_periods_ 100000 }    ;# a route without news is not given up
for {set at 0} {$at < $nodes} {incr at} {
    set node($at) [$sim node]
    $node($at) random-motion 0
    foreach {axis place} [list X_ [expr {10 + $spacing * $at}] Y_ 10 Z_ 0] { $node($at) set $axis $place }
    if {$routes eq "stay"} { $sim at [expr {$begin - 5}] "[$node($at) set ragent_] set perup_ 1e6" }
}
set random [new RNG]
$random seed [expr {100 * $seed}]
for {set to 1} {$to < $nodes} {incr to} {
    if {$experiment eq "chain_udp" && $to < 3} {
        set source($to) [new Agent/UDP]
        $source($to) set packetSize_ 1500
        set sink($to) [new Agent/LossMonitor]
        set load [new Application/Traffic/CBR]
        foreach {key value} [list packetSize_ 1000 rate_ ${rate}Mb random_ 1] { $load set $key $value }
    } else {
        set source($to) [new Agent/TCP/Newreno]
        foreach {key value} [list packetSize_ 1000 window_ $window] { $source($to) set $key $value }
        set sink($to) [new Agent/TCPSink/DelAck]
        set load [new Application/FTP]
    }
    $sim attach-agent $node(0) $source($to)
    $sim attach-agent $node($to) $sink($to)
    $sim connect $source($to) $sink($to)
    $load attach-agent $source($to)
    $sim at [expr {$begin + [$random uniform 0 1]}] "$load start"
}
proc arrived {} {
    global sink source nodes
    set found {}
    for {set to 1} {$to < $nodes} {incr to} {
        set udp [string match *LossMonitor* [$sink($to) info class]]
        lappend found [expr {$udp ? [$sink($to) set npkts_] : [$source($to) set ack_] + 1}]
    }
    return $found
}
proc finish {} {
    global argv before experiment
    lassign $argv experiment spacing window buffer rate seed routes
    if {$routes eq "dsdv"} { set spacing "\"$spacing m, DSDV\"" }
    if {$experiment eq "chain_udp"} { lassign {} window buffer } else { set rate "" }
    set sum 0
    set squares 0
    set rows {}
    foreach then $before now [arrived] name {one two three four} {
        if {$then eq ""} break
        set kbps [expr {8e-2 * ($now - $then)}]
        lappend rows flow_kbps $name $kbps
        set sum [expr {$sum + $kbps}]
        set squares [expr {$squares + $kbps * $kbps}]
    }
    set count [expr {[llength $rows] / 3}]
    lappend rows goodput_kbps "" $sum jain_index "" [expr {$sum * $sum / $count / $squares}]
    foreach {quantity name value} $rows {
        set digits [expr {$quantity eq "jain_index" ? 4 : 1}]
        puts "$experiment,$quantity,FIFO,$spacing,$window,$buffer,$rate,,,$name,$seed,[format %.${digits}f $value],ns-2 2.35"
    }
    exit 0
}
$sim at [expr {$begin + 10}] { set before [arrived] }
$sim at [expr {$begin + 110}] finish
$sim run
