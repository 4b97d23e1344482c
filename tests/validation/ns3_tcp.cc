// TCP over 802.11n or ax in ns-3 3.44: prints a row of `ns3_tcp.csv`. With `pip install ns3==3.44.post0`, in the folder
// that it makes in site-packages, compile with
//   g++ -std=c++23 -O2 -w -Iinclude ns3_tcp.cc -o ns3_tcp -Llib64 -Wl,-rpath,$PWD/lib64 -Wl,--allow-shlib-undefined \
//     -lns3.44-{core,network,internet,applications,mobility,propagation,point-to-point,traffic-control,wifi}
//   ns3_tcp CASE STANDARD TCP DIRECTION N QUEUE SEED WARM END TIMESTAMPS
// STANDARD is n or ax, TCP Cubic or NewReno, DIRECTION up, down or mix (N uploads and N downloads); counted from WARM to
// END seconds; TIMESTAMPS 0 or 1. A segment of 1460 bytes with timestamps is an IP packet of 1512 bytes, of which the
// wire with its MTU of 1500 bytes makes two fragments.
#include <cstdlib>
#include <iostream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/propagation-module.h"
#include "ns3/tcp-option-sack.h"
#include "ns3/timestamp-tag.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

namespace {

double warm;

struct Mean {
    double sum = 0;
    uint64_t count = 0;

    void add(Time rtt) {
        if (Simulator::Now().GetSeconds() >= warm) {
            sum += rtt.GetSeconds() * 1e3;
            ++count;
        }
    }

    double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
};

struct Segment {
    Time sent;
    bool again = false;    // sent more than once
    bool arrived = false;  // by selective ACKs
};

struct Flow {
    Ptr<BulkSendApplication> source;
    Ptr<PacketSink> sink;
    uint64_t before = 0;
    std::map<SequenceNumber32, Segment> unacknowledged;
    SequenceNumber32 lastAck{1};  // by the receiver
    Time recent;                  // when the segment left whose timestamp it would echo (RFC 7323, section 4.3)
    Mean advancing, all;
};

void onTx(Flow* flow, Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>) {
    if (packet->GetSize() > 0) {
        const auto [segment, isNew] = flow->unacknowledged.emplace(header.GetSequenceNumber(), Segment());
        segment->second.sent = Simulator::Now();
        segment->second.again |= !isNew;
        packet->AddPacketTag(TimestampTag(Simulator::Now()));
    }
}

void onReceiverRx(Flow* flow, Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>) {
    TimestampTag sent;
    if (packet->PeekPacketTag(sent) && header.GetSequenceNumber() <= flow->lastAck) {
        flow->recent = Max(flow->recent, sent.GetTimestamp());
    }
}

void onReceiverTx(Flow* flow, Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>) {
    flow->lastAck = header.GetAckNumber();
    packet->AddPacketTag(TimestampTag(flow->recent));
}

// `advancing` is the mean over ns-3's own samples: of each ACK of new data, unless its first segment was sent again.
// The trace source LastRTT reports those that differ from the one before only, and segments that leave as ACKs arrive
// have equal ones. `all` is the mean over wifair's: of each ACK that reports segments sent once, in SACK blocks too,
// from when the last of them left; where the ACK covers a segment sent again, from when the segment left whose
// timestamp it would echo.
void onRx(Flow* flow, Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>) {
    const auto now = Simulator::Now();
    auto& segments = flow->unacknowledged;
    Time last;
    const auto arrives = [&last](Segment& segment) {
        if (!segment.arrived && !segment.again) {
            last = Max(last, segment.sent);
        }
        segment.arrived = true;
    };
    if (header.HasOption(TcpOption::SACK)) {
        const auto option = DynamicCast<const TcpOptionSack>(header.GetOption(TcpOption::SACK));
        for (const auto& [from, to] : option->GetSackList()) {
            const auto end = segments.lower_bound(to);
            for (auto segment = segments.lower_bound(from); segment != end; ++segment) {
                arrives(segment->second);
            }
        }
    }
    const auto first = segments.begin(), end = segments.lower_bound(header.GetAckNumber());
    const bool advances = first != end;
    if (advances && !first->second.again) {
        flow->advancing.add(now - first->second.sent);
    }
    bool repaired = false;
    for (auto segment = first; segment != end; ++segment) {
        repaired |= segment->second.again;
        arrives(segment->second);
    }
    segments.erase(first, end);
    TimestampTag echo;
    if (!last.IsZero() && !repaired) {
        flow->all.add(now - last);
    } else if (advances && packet->PeekPacketTag(echo) && !echo.GetTimestamp().IsZero()) {
        flow->all.add(now - echo.GetTimestamp());
    }
}

void watch(Flow* flow) {
    const auto socket = flow->source->GetSocket();
    socket->TraceConnectWithoutContext("Tx", MakeBoundCallback(&onTx, flow));
    socket->TraceConnectWithoutContext("Rx", MakeBoundCallback(&onRx, flow));
}

void watchReceiver(Flow* flow) {
    const auto sockets = flow->sink->GetAcceptedSockets();
    for (const auto& socket : sockets) {
        socket->TraceConnectWithoutContext("Tx", MakeBoundCallback(&onReceiverTx, flow));
        socket->TraceConnectWithoutContext("Rx", MakeBoundCallback(&onReceiverRx, flow));
    }
    if (sockets.empty()) {
        Simulator::Schedule(MilliSeconds(10), &watchReceiver, flow);
    }
}

void configure(const std::string& tcp, const std::string& queue, bool timestamps) {
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize(queue + "p")));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(100)));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::Tcp" + tcp));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 22));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 22));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(timestamps));
}

NetDeviceContainer cell(const std::string& standard, const NodeContainer& accessPoint, const NodeContainer& stations) {
    const bool ax = standard == "ax";
    MobilityHelper mobility;  // all at one point
    mobility.Install(accessPoint);
    mobility.Install(stations);
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(-40));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("ChannelSettings", StringValue("{36, 20, BAND_5GHZ, 0}"));
    WifiHelper wifi;
    wifi.SetStandard(ax ? WIFI_STANDARD_80211ax : WIFI_STANDARD_80211n);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(ax ? "HeMcs11" : "HtMcs7"),
                                 "ControlMode", StringValue("OfdmRate24Mbps"));
    const Ssid ssid("cell");
    const UintegerValue longest(ax ? 6500631 : 65535);
    WifiMacHelper mac;
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "BeaconInterval", TimeValue(MicroSeconds(1024000)),
                "BE_MaxAmpduSize", longest);
    NetDeviceContainer devices = wifi.Install(phy, mac, accessPoint);
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", longest);
    devices.Add(wifi.Install(phy, mac, stations));
    if (ax) {
        Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/HeConfiguration/GuardInterval",
                    TimeValue(NanoSeconds(800)));
    }
    return devices;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 11) {
        std::cerr << "usage: ns3_tcp CASE STANDARD TCP DIRECTION N QUEUE SEED WARM END TIMESTAMPS\n";
        return 2;
    }
    const std::string standard = argv[2], tcp = argv[3], direction = argv[4], queue = argv[6];
    const auto n = static_cast<uint32_t>(std::atoi(argv[5]));
    warm = std::atof(argv[8]);
    const double end = std::atof(argv[9]);
    RngSeedManager::SetRun(std::atoi(argv[7]));
    configure(tcp, queue, std::string(argv[10]) == "1");

    NodeContainer accessPoint(1), server(1), stations(direction == "mix" ? 2 * n : n);
    const auto air = cell(standard, accessPoint, stations);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    link.SetChannelAttribute("Delay", StringValue("10ms"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    const auto wire = link.Install(accessPoint.Get(0), server.Get(0));
    InternetStackHelper().InstallAll();
    Ipv4AddressHelper address("10.1.0.0", "255.255.0.0");
    const auto inAir = address.Assign(air);
    address.SetBase("10.2.0.0", "255.255.255.0");
    const auto onWire = address.Assign(wire);
    TrafficControlHelper().Uninstall(air);
    TrafficControlHelper().Uninstall(wire);
    NeighborCacheHelper().PopulateNeighborCache();
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<Flow> flows(stations.GetN());
    auto start = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < flows.size(); ++i) {
        const bool up = direction == "up" || (direction == "mix" && i < n);
        const auto from = up ? stations.Get(i) : server.Get(0), to = up ? server.Get(0) : stations.Get(i);
        const uint16_t port = 5001 + i;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        flows[i].sink = sink.Install(to).Get(0)->GetObject<PacketSink>();
        BulkSendHelper source("ns3::TcpSocketFactory",
                              InetSocketAddress(up ? onWire.GetAddress(1) : inAir.GetAddress(1 + i), port));
        const auto installed = source.Install(from);
        installed.Start(Seconds(1 + start->GetValue(0, 0.5)));
        flows[i].source = installed.Get(0)->GetObject<BulkSendApplication>();
        Simulator::Schedule(Seconds(1.6), &watch, &flows[i]);
        Simulator::Schedule(Seconds(1.6), &watchReceiver, &flows[i]);
    }
    Simulator::Schedule(Seconds(warm), [&flows] {
        for (auto& flow : flows) {
            flow.before = flow.sink->GetTotalRx();
        }
    });
    Simulator::Stop(Seconds(end));
    Simulator::Run();

    double sum = 0, squares = 0;
    Mean advancing, all;  // of the flows that have one
    for (const auto& flow : flows) {
        const double goodput = 8e-6 * static_cast<double>(flow.sink->GetTotalRx() - flow.before) / (end - warm);
        sum += goodput;
        squares += goodput * goodput;
        advancing.sum += flow.advancing.mean();
        advancing.count += flow.advancing.count > 0;
        all.sum += flow.all.mean();
        all.count += flow.all.count > 0;
    }
    std::cout << argv[1];
    for (int i = 2; i < argc; ++i) {
        std::cout << ',' << argv[i];
    }
    std::cout << ',' << sum << ',' << sum * sum / (squares * static_cast<double>(flows.size())) << ','
              << advancing.mean() << ',' << all.mean() << '\n';
}
