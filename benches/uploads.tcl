# scenarios/uploads_ns2.toml for ns-2: ns uploads.tcl STATIONS SECONDS
lassign $argv stations seconds
set sim [new Simulator]
$defaultRNG seed 1
$sim node-config -addressType hierarchical
AddrParams set domain_num_ 2
AddrParams set cluster_num_ {1 1}
AddrParams set nodes_num_ [list 1 [expr {$stations + 1}]]
$sim trace-all [open /dev/null w]

foreach {name value} {
    SlotTime_ 0.00002 SIFS_ 0.00001 CWMin_ 31 CWMax_ 1023 PreambleLength_ 144 PLCPHeaderLength_ 48
    PLCPDataRate_ 1Mb dataRate_ 11Mb basicRate_ 2Mb RTSThreshold_ 3000
} { Mac/802_11 set $name $value }

set ground [new Topography]
$ground load_flatgrid 100 100
create-god [expr {$stations + 1}]
set server [$sim node 0.0.0]
$sim node-config -wiredRouting ON -adhocRouting DSDV -topoInstance $ground -channel [new Channel/WirelessChannel] \
    -llType LL -macType Mac/802_11 -phyType Phy/WirelessPhy -antType Antenna/OmniAntenna \
    -propType Propagation/TwoRayGround -ifqType Queue/DropTail/PriQueue -ifqLen 50 \
    -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF

proc place {node angle} {
    $node random-motion 0
    $node set X_ [expr {50 + 5 * cos($angle)}]
    $node set Y_ [expr {50 + 5 * sin($angle)}]
    $node set Z_ 0
}
set ap [$sim node 1.0.0]
$ap random-motion 0
foreach {axis at} {X_ 50 Y_ 50 Z_ 0} { $ap set $axis $at }
$sim duplex-link $server $ap 100Mb 10ms DropTail
$sim node-config -wiredRouting OFF
set uniform [new RNG]
for {set i 0} {$i < $stations} {incr i} {
    set station [$sim node 1.0.[expr {$i + 1}]]
    $station base-station [AddrParams addr2id [$ap node-addr]]
    place $station [expr {6.28318530718 * $i / $stations}]
    set tcp($i) [new Agent/TCP/Newreno]
    $tcp($i) set packetSize_ 1000
    $tcp($i) set window_ 20
    set sink [new Agent/TCPSink]
    $sim attach-agent $station $tcp($i)
    $sim attach-agent $server $sink
    $sim connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $sim at [$uniform uniform 5 6] "$ftp start"   ;# by then DSDV has its routes
}
proc acked {} {
    global tcp
    set sum 0
    foreach {- agent} [array get tcp] { incr sum [expr {[$agent set ack_] + 1}] }
    return $sum
}
set warm_up 20
$sim at $warm_up { set before [acked] }
$sim at $seconds {
    puts [expr {8e-3 * ([acked] - $before) / ($seconds - $warm_up)}]
    exit 0
}
$sim run
