# benches/scenarios/chain.toml for ns-2, with DSDV in place of static routes, which ns-2 has none of: ns chain.tcl SECONDS
lassign $argv seconds
set sim [new Simulator]
$defaultRNG seed 1
$sim trace-all [open /dev/null w]

foreach {name value} {
    SlotTime_ 0.00002 SIFS_ 0.00001 CWMin_ 31 CWMax_ 1023 PreambleLength_ 144 PLCPHeaderLength_ 48
    PLCPDataRate_ 1Mb dataRate_ 11Mb basicRate_ 1Mb RTSThreshold_ 3000
} { Mac/802_11 set $name $value }

set ground [new Topography]
$ground load_flatgrid 1000 100
create-god 5
$sim node-config -adhocRouting DSDV -topoInstance $ground -channel [new Channel/WirelessChannel] \
    -llType LL -macType Mac/802_11 -phyType Phy/WirelessPhy -antType Antenna/OmniAntenna \
    -propType Propagation/TwoRayGround -ifqType Queue/DropTail/PriQueue -ifqLen 50 \
    -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
for {set i 0} {$i < 5} {incr i} {
    set node($i) [$sim node]
    $node($i) random-motion 0
    foreach {axis at} [list X_ [expr {100 + 150 * $i}] Y_ 50 Z_ 0] { $node($i) set $axis $at }
}
set start 50 ;# by then DSDV has its routes
for {set i 1} {$i < 5} {incr i} {
    set tcp($i) [new Agent/TCP/Newreno]
    $tcp($i) set packetSize_ 1000
    $tcp($i) set window_ 20
    set sink [new Agent/TCPSink/DelAck]
    $sim attach-agent $node(0) $tcp($i)
    $sim attach-agent $node($i) $sink
    $sim connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $sim at [expr {$start + 0.1 * $i}] "$ftp start"
}
$sim at $seconds {
    set sum 0
    foreach {- agent} [array get tcp] { incr sum [expr {[$agent set ack_] + 1}] }
    puts [expr {8e-3 * $sum / ($seconds - $start)}]
    exit 0
}
$sim run
