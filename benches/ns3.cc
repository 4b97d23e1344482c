// The scenarios of `make bench` for ns-3 3.44: `ns3 SCENARIO STATIONS SECONDS`, where SCENARIO is uploads, saturated or
// cells, or tcp-n, tcp-ax, udp-n or udp-ax80, which have aggregates. Prints the goodput in Mb/s. Without aggregates,
// stations are in ad-hoc mode: nobody scans or associates.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

namespace {

constexpr uint16_t port = 5001;

struct Radio {
    WifiStandard standard;
    std::string data;
    std::string control;
};

const Radio b{WIFI_STANDARD_80211b, "DsssRate11Mbps", "DsssRate2Mbps"};
const Radio g{WIFI_STANDARD_80211g, "ErpOfdmRate54Mbps", "ErpOfdmRate24Mbps"};

// Path loss, power, noise and sensitivity as in wifair's `[space]`: frames are read and sensed within 116 m.
NetDeviceContainer wireless(const NodeContainer& nodes, const Radio& radio, const Ptr<ListPositionAllocator>& places) {
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.Install(nodes);
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::LogDistancePropagationLossModel", "Exponent", DoubleValue(3), "ReferenceLoss",
                               DoubleValue(40.1));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("TxPowerStart", DoubleValue(20));
    phy.Set("TxPowerEnd", DoubleValue(20));
    phy.Set("RxNoiseFigure", DoubleValue(6));
    phy.Set("RxSensitivity", DoubleValue(-82));
    WifiHelper wifi;
    wifi.SetStandard(radio.standard);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(radio.data), "ControlMode",
                                 StringValue(radio.control));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    const auto devices = wifi.Install(phy, mac, nodes);
    if (radio.standard == WIFI_STANDARD_80211g) {  // without an access point nobody announces the short slot
        Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/Phy/Slot", TimeValue(MicroSeconds(9)));
    }
    return devices;
}

void circle(const Ptr<ListPositionAllocator>& places, double x, double y, double radius, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        const double angle = 2 * M_PI * i / count;
        places->Add(Vector(x + radius * std::cos(angle), y + radius * std::sin(angle), 1.5));
    }
}

Ptr<PacketSink> sink(const Ptr<Node>& node, const std::string& factory) {
    PacketSinkHelper helper(factory, InetSocketAddress(Ipv4Address::GetAny(), port));
    return helper.Install(node).Get(0)->GetObject<PacketSink>();
}

void upload(const Ptr<Node>& from, Ipv4Address to, double start) {
    BulkSendHelper helper("ns3::TcpSocketFactory", InetSocketAddress(to, port));
    helper.Install(from).Start(Seconds(start));
}

// What the sinks receive after the warm-up.
double goodput(const std::vector<Ptr<PacketSink>>& sinks, double warmUp, double seconds) {
    const auto received = [&sinks] {
        uint64_t sum = 0;
        for (const auto& one : sinks) {
            sum += one->GetTotalRx();
        }
        return sum;
    };
    uint64_t before = 0;
    Simulator::Schedule(Seconds(warmUp), [&] { before = received(); });
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    return 8e-6 * static_cast<double>(received() - before) / (seconds - warmUp);
}

Ptr<UniformRandomVariable> starts(double spread) {
    auto uniform = CreateObject<UniformRandomVariable>();
    uniform->SetAttribute("Max", DoubleValue(spread));
    return uniform;
}

// An access point with a server behind 10 ms of cable, and stations that upload to it; the air is 20 or 80 MHz wide.
double aggregates(uint32_t stations, double seconds, bool ax, bool wide, bool tcp) {
    NodeContainer air;
    air.Create(stations + 1);
    NodeContainer wired(air.Get(0));
    wired.Create(1);
    MobilityHelper().Install(air);  // all at one point
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(-40));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("ChannelSettings", StringValue(wide ? "{42, 80, BAND_5GHZ, 0}" : "{36, 20, BAND_5GHZ, 0}"));
    WifiHelper wifi;
    wifi.SetStandard(ax ? WIFI_STANDARD_80211ax : WIFI_STANDARD_80211n);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(ax ? "HeMcs11" : "HtMcs7"),
                                 "ControlMode", StringValue("OfdmRate24Mbps"));
    const Ssid ssid("cell");
    const UintegerValue longest(ax ? 6500631 : 65535);
    WifiMacHelper mac;
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", longest);
    NetDeviceContainer devices = wifi.Install(phy, mac, air.Get(0));
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", longest);
    for (uint32_t i = 1; i <= stations; ++i) {
        devices.Add(wifi.Install(phy, mac, air.Get(i)));
    }
    if (ax) {
        Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/HeConfiguration/GuardInterval",
                    TimeValue(NanoSeconds(800)));
    }
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(tcp ? "1Gbps" : "10Gbps"));
    link.SetChannelAttribute("Delay", StringValue("10ms"));
    const auto cable = link.Install(wired);
    InternetStackHelper().InstallAll();
    Ipv4AddressHelper address("10.1.0.0", "255.255.0.0");
    address.Assign(devices);
    address.SetBase("10.2.0.0", "255.255.255.0");
    const auto ends = address.Assign(cable);
    TrafficControlHelper().Uninstall(devices);
    NeighborCacheHelper().PopulateNeighborCache();
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    const std::vector sinks{sink(wired.Get(1), tcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory")};
    const auto uniform = starts(0.1);
    for (uint32_t i = 1; i <= stations; ++i) {
        const double start = 0.5 + uniform->GetValue();  // until then, stations associate
        if (tcp) {
            upload(air.Get(i), ends.GetAddress(1), start);
            continue;
        }
        OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(ends.GetAddress(1), port));
        source.SetConstantRate(DataRate(wide ? "83Mbps" : "9Mbps"), 1472);
        source.Install(air.Get(i)).Start(Seconds(start));
        source.SetAttribute("MaxBytes", UintegerValue(4 * 1472));  // these set up the block ACK agreement
        source.Install(air.Get(i)).Start(Seconds(0.3 + 0.01 * i));
    }
    return goodput(sinks, seconds / 2, seconds);
}

double uploads(uint32_t stations, double seconds) {
    NodeContainer air;
    air.Create(stations + 1);
    NodeContainer wired(air.Get(0));
    wired.Create(1);
    auto places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 1.5));
    circle(places, 0, 0, 5, stations);
    const auto wifi = wireless(air, b, places);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    link.SetChannelAttribute("Delay", StringValue("10ms"));
    const auto cable = link.Install(wired);
    InternetStackHelper().InstallAll();
    Ipv4AddressHelper address("10.1.0.0", "255.255.0.0");
    address.Assign(wifi);
    address.SetBase("10.2.0.0", "255.255.255.0");
    const auto ends = address.Assign(cable);
    TrafficControlHelper().Uninstall(wifi);
    NeighborCacheHelper().PopulateNeighborCache();
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    const std::vector sinks{sink(wired.Get(1), "ns3::TcpSocketFactory")};
    const auto uniform = starts(std::min(1.0, seconds / 4));
    for (uint32_t i = 1; i <= stations; ++i) {
        upload(air.Get(i), ends.GetAddress(1), uniform->GetValue());
    }
    return goodput(sinks, seconds / 4, seconds);
}

double saturated(uint32_t stations, double seconds) {
    NodeContainer air;
    air.Create(stations + 1);
    auto places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 1.5));
    circle(places, 0, 0, 5, stations);
    const auto wifi = wireless(air, g, places);
    InternetStackHelper().InstallAll();
    const auto addresses = Ipv4AddressHelper("10.1.0.0", "255.255.0.0").Assign(wifi);
    TrafficControlHelper().Uninstall(wifi);
    NeighborCacheHelper().PopulateNeighborCache();
    const std::vector sinks{sink(air.Get(0), "ns3::UdpSocketFactory")};
    const auto uniform = starts(0.01);
    for (uint32_t i = 1; i <= stations; ++i) {
        OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(addresses.GetAddress(0), port));
        source.SetConstantRate(DataRate("1.5Mbps"), 1000);
        source.Install(air.Get(i)).Start(Seconds(uniform->GetValue()));
    }
    return goodput(sinks, seconds / 5, seconds);
}

double cells(uint32_t stations, double seconds) {
    constexpr uint32_t count = 10;
    const uint32_t each = stations / count;
    NodeContainer air;
    air.Create(count * (each + 1));
    auto places = CreateObject<ListPositionAllocator>();
    for (uint32_t cell = 0; cell < count; ++cell) {
        const double x = 60.0 * (cell % 5);
        const double y = 60.0 * (cell / 5);
        places->Add(Vector(x, y, 1.5));
        circle(places, x, y, 20, each);
    }
    const auto wifi = wireless(air, g, places);
    InternetStackHelper().InstallAll();
    const auto addresses = Ipv4AddressHelper("10.1.0.0", "255.255.0.0").Assign(wifi);
    TrafficControlHelper().Uninstall(wifi);
    NeighborCacheHelper().PopulateNeighborCache();
    std::vector<Ptr<PacketSink>> sinks;
    const auto uniform = starts(std::min(1.0, seconds / 4));
    for (uint32_t cell = 0; cell < count; ++cell) {
        const uint32_t middle = cell * (each + 1);
        sinks.push_back(sink(air.Get(middle), "ns3::TcpSocketFactory"));
        for (uint32_t i = 1; i <= each; ++i) {
            upload(air.Get(middle + i), addresses.GetAddress(middle), uniform->GetValue());
        }
    }
    return goodput(sinks, seconds / 4, seconds);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cerr << "usage: ns3 uploads|saturated|cells|tcp-n|tcp-ax|udp-n|udp-ax80 STATIONS SECONDS\n";
        return 2;
    }
    const std::string scenario = argv[1];
    const auto stations = static_cast<uint32_t>(std::atoi(argv[2]));
    const double seconds = std::atof(argv[3]);
    if (scenario == "uploads" || scenario == "saturated" || scenario == "cells") {
        Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("50p")));
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1000));
        Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
        Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 17));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(scenario == "cells" ? 1 << 17 : 20000));
    } else {
        Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("1000p")));
        Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(false));
        Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(100)));
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
        Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 22));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 22));
        Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    }
    double found = 0;
    if (scenario == "uploads") {
        found = uploads(stations, seconds);
    } else if (scenario == "saturated") {
        found = saturated(stations, seconds);
    } else if (scenario == "cells") {
        found = cells(stations, seconds);
    } else if (scenario == "tcp-n" || scenario == "tcp-ax") {
        found = aggregates(stations, seconds, scenario == "tcp-ax", false, true);
    } else if (scenario == "udp-n" || scenario == "udp-ax80") {
        found = aggregates(stations, seconds, scenario == "udp-ax80", scenario == "udp-ax80", false);
    } else {
        std::cerr << "unknown scenario " << scenario << '\n';
        return 2;
    }
    std::cout << found << '\n';
    Simulator::Destroy();
}
