// Saturated uplink of a BSS of 40 or 80 MHz beside one of 20 MHz, in ns-3 3.37 with SpectrumWifiPhy; prints a row of
// `ns3_bonded.csv`. Compile with
//   g++ -std=c++17 -O2 bonded.cc -o bonded \
//     -lns3-{core,network,internet,wifi,applications,mobility,spectrum,propagation,traffic-control}
//   bonded STANDARD WIDTH MCS AMPDU NEIGHBOUR LOAD LEVEL CCA DUPLICATES SEED SECONDS [TRACE]
// STANDARD is n or ac, AMPDU the longest A-MPDU in bytes (0: none), NEIGHBOUR the channel of the other BSS (0: none;
// the primary channel of the wide one is 36), LOAD what the other BSS offers in Mb/s, LEVEL the power in dBm with
// which frames of one BSS arrive in the other (in their own with -40), CCA the level in dBm at which the wide BSS
// senses PPDUs (802.11n: also in its secondary channel), DUPLICATES 1 to send energy in the other 20 MHz channels of
// the PPDU during its response, TRACE a time in s from which 10 ms of frames are printed.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/spectrum-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

namespace {

constexpr uint16_t port = 5001;
constexpr double warmUp = 1.0;
constexpr double power = 16;     // dBm
constexpr double ownLevel = -40;  // dBm
constexpr int firstFrequency = 5180;  // MHz, channel 36

struct Settings {
    std::string standard;
    int width;
    int mcs;
    uint32_t ampdu;
    uint32_t neighbour;
    double load;
    double level;
    double cca;
    bool duplicates;
    uint32_t seed;
    double seconds;
    double trace;
};

struct Frames {
    std::map<uint16_t, uint64_t> ppdus;  // by width
    uint64_t mpdus = 0;
    uint16_t lastWidth = 20;  // of the last data PPDU
};

// A BSS of two stations without beacons (ad-hoc mode); the first sends to the second.
class Bss {
  public:
    Bss(const Settings& settings, const std::string& name, const Ptr<MultiModelSpectrumChannel>& channel,
        const Ptr<MatrixPropagationLossModel>& loss, int primary, int width)
        : settings_{settings}, name_{name}, channel_{channel}, primary_{primary} {
        nodes_.Create(2);
        MobilityHelper mobility;
        mobility.Install(nodes_);
        SpectrumWifiPhyHelper phy;
        phy.SetChannel(channel);
        // Nothing leaks into other channels; at these powers it would keep them busy.
        for (const auto& mask : {"TxMaskInnerBandMinimumRejection", "TxMaskOuterBandMinimumRejection",
                                 "TxMaskOuterBandMaximumRejection"}) {
            phy.Set(mask, DoubleValue(-300));
        }
        phy.Set("TxPowerStart", DoubleValue(power));
        phy.Set("TxPowerEnd", DoubleValue(power));
        if (width > 20) {
            phy.Set("CcaSensitivity", DoubleValue(settings.cca));
        }
        int first = primary;
        int number = primary;
        if (width > 20) {
            first = 36;
            number = width == 40 ? 38 : 42;
        }
        std::ostringstream text;
        text << '{' << number << ", " << width << ", BAND_5GHZ, " << (primary - first) / 4 << '}';
        phy.Set("ChannelSettings", StringValue(text.str()));
        const bool isHt = settings.standard == "n";
        WifiHelper wifi;
        wifi.SetStandard(isHt ? WIFI_STANDARD_80211n : WIFI_STANDARD_80211ac);
        wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode",
                                     StringValue((isHt ? "HtMcs" : "VhtMcs") + std::to_string(settings.mcs)),
                                     "ControlMode", StringValue("OfdmRate24Mbps"));
        WifiMacHelper mac;
        mac.SetType("ns3::AdhocWifiMac", "BE_MaxAmpduSize", UintegerValue(settings.ampdu));
        devices_ = wifi.Install(phy, mac, nodes_);
        for (uint32_t i = 0; i < 2; ++i) {
            const auto device = DynamicCast<WifiNetDevice>(devices_.Get(i));
            for (const auto& rate : {"OfdmRate12Mbps", "OfdmRate24Mbps"}) {
                device->GetRemoteStationManager()->AddBasicMode(WifiMode(rate));
            }
            device->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin",
                                                         MakeBoundCallback(&Bss::sent, this, i));
        }
        generator_ = CreateObject<WaveformGenerator>();
        const auto place = CreateObject<ConstantPositionMobilityModel>();
        generator_->SetMobility(place);
        generator_->SetDevice(devices_.Get(1));
        generator_->SetChannel(channel);
        for (uint32_t i = 0; i < 2; ++i) {
            const auto station = nodes_.Get(i)->GetObject<MobilityModel>();
            loss->SetLoss(place, station, 300);
            loss->SetLoss(station, nodes_.Get(1 - i)->GetObject<MobilityModel>(), power - ownLevel);
        }
    }

    void install(const std::string& network, double mbps, double start) {
        InternetStackHelper().Install(nodes_);
        const auto addresses = Ipv4AddressHelper(network.c_str(), "255.255.255.0").Assign(devices_);
        TrafficControlHelper().Uninstall(devices_);
        PacketSinkHelper receiver("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink_ = receiver.Install(nodes_.Get(1)).Get(0)->GetObject<PacketSink>();
        UdpClientHelper sender(addresses.GetAddress(1), port);
        sender.SetAttribute("PacketSize", UintegerValue(1472));
        sender.SetAttribute("MaxPackets", UintegerValue(0xffffffff));
        sender.SetAttribute("Interval", TimeValue(Seconds(1472 * 8 / (mbps * 1e6))));
        sender.Install(nodes_.Get(0)).Start(Seconds(start));
    }

    void mark() {
        before_ = sink_->GetTotalRx();
        frames_ = Frames{};
    }

    double goodput() const {
        return 8e-6 * static_cast<double>(sink_->GetTotalRx() - before_) / (settings_.seconds - warmUp);
    }

    const Frames& frames() const { return frames_; }

  private:
    static void sent(Bss* bss, uint32_t station, WifiConstPsduMap psdus, WifiTxVector vector, double /*watts*/) {
        const auto& psdu = psdus.begin()->second;
        const auto& header = psdu->GetHeader(0);
        auto& frames = bss->frames_;
        const bool isData = header.IsQosData();
        const auto width = vector.GetChannelWidth();
        if (isData) {
            ++frames.ppdus[width];
            frames.mpdus += psdu->GetNMpdus();
            frames.lastWidth = width;
        }
        const auto time = WifiPhy::CalculateTxDuration(psdu, vector, WIFI_PHY_BAND_5GHZ);
        const double now = Simulator::Now().GetSeconds();
        if (const double from = bss->settings_.trace; from > 0 && now >= from && now < from + 0.01) {
            std::cerr << (now - from) * 1e6 << " us: " << bss->name_ << station << ' ' << header.GetTypeString()
                      << " x " << psdu->GetNMpdus() << ", " << width << " MHz, " << time.GetMicroSeconds() << " us\n";
        }
        if (bss->settings_.duplicates && !isData && station == 1) {
            for (int offset = 20; offset < frames.lastWidth; offset += 20) {
                bss->send(bss->primary_ + offset / 5, time);
            }
        }
    }

    // Energy in a 20 MHz channel, as that of a non-HT duplicate there, for the other BSS alone. It arrives with -60 dBm
    // at least: weaker frames are sensed by their preambles.
    void send(int channel, Time time) {
        auto signal = Create<SpectrumSignalParameters>();
        signal->txPhy = generator_;
        signal->duration = time;
        signal->psd = WifiSpectrumValueHelper::CreateOfdmTxPowerSpectralDensity(
            firstFrequency + 5 * (channel - 36), 20, DbmToW(power + std::max(0.0, -60 - settings_.level)), 20, -300,
            -300, -300);
        channel_->StartTx(signal);
    }

    Settings settings_;
    std::string name_;
    Ptr<MultiModelSpectrumChannel> channel_;
    int primary_;
    NodeContainer nodes_;
    NetDeviceContainer devices_;
    Ptr<WaveformGenerator> generator_;
    Ptr<PacketSink> sink_;
    uint64_t before_ = 0;
    Frames frames_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 12) {
        std::cerr << "usage: bonded STANDARD WIDTH MCS AMPDU NEIGHBOUR LOAD LEVEL CCA DUPLICATES SEED SECONDS [TRACE]\n";
        return 2;
    }
    const auto number = [argv](int place) { return std::atoi(argv[place]); };
    const auto real = [argv](int place) { return std::atof(argv[place]); };
    const auto natural = [argv](int place) { return static_cast<uint32_t>(std::atoi(argv[place])); };
    const Settings settings{argv[1], number(2), number(3),      natural(4),  natural(5), real(6),
                            real(7), real(8),   number(9) != 0, natural(10), real(11),   argc > 12 ? real(12) : 0};
    RngSeedManager::SetRun(settings.seed);
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("500p")));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(100)));
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(false));
    const auto channel = CreateObject<MultiModelSpectrumChannel>();
    const auto loss = CreateObject<MatrixPropagationLossModel>();
    loss->SetDefaultLoss(power - settings.level);
    channel->AddPropagationLossModel(loss);
    auto uniform = CreateObject<UniformRandomVariable>();
    const auto start = [&uniform] { return 0.1 + uniform->GetValue(0, 0.01); };
    Bss wide(settings, "wide", channel, loss, 36, settings.width);
    std::unique_ptr<Bss> narrow;
    wide.install("10.1.1.0", settings.standard == "n" ? 200 : 450, start());
    if (settings.neighbour != 0) {
        narrow = std::make_unique<Bss>(settings, "narrow", channel, loss, static_cast<int>(settings.neighbour), 20);
        narrow->install("10.1.2.0", settings.load, start());
    }
    // The channel knows its devices only after they have started.
    Simulator::Schedule(Seconds(0.05), [] { NeighborCacheHelper().PopulateNeighborCache(); });
    Simulator::Schedule(Seconds(warmUp), [&] {
        wide.mark();
        if (narrow) {
            narrow->mark();
        }
    });
    Simulator::Stop(Seconds(settings.seconds));
    Simulator::Run();
    auto ppdus = wide.frames().ppdus;
    const uint64_t narrowPpdus = narrow ? narrow->frames().ppdus.at(20) : 0;
    for (int place = 1; place <= 11; ++place) {
        std::cout << argv[place] << ',';
    }
    std::cout << wide.goodput() << ',' << (narrow ? narrow->goodput() : 0) << ',' << ppdus[20] << ','
              << ppdus[40] << ',' << ppdus[80] << ',' << wide.frames().mpdus << ',' << narrowPpdus << '\n';
    Simulator::Destroy();
}
