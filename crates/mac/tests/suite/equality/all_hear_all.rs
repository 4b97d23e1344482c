//! Channels where all stations hear each other: the plain reference, the general channel, and the DCF shortcut.

use proptest::prelude::*;
use wifair_engine::stream;
use wifair_mac::edcaf::SlotRules;
use wifair_mac::{Call, Eifs, GeneralChannel, MacEvent, Prioritized};
use wifair_packet::Packets;
use wifair_queue::Discipline;
use wifair_units::{Duration, Time};

use super::older::{beside_older, older};
use super::scenario::*;
use crate::common::NEXT_HOPS;
use crate::reference::ReferenceChannel;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[cfg(feature = "fast")]
    /// The shortcut, which may take several steps at a time, is equivalent to the model.
    #[test]
    fn shared_equals_general(
        scenario in scenario(),
        eifs_is_nav in any::<bool>(),
        errors in (prop_oneof![Just(0.0), 0.0..0.5], prop_oneof![Just(0.0), 0.0..0.5]),
    ) {
        let mut scenario = scenario;
        if eifs_is_nav && errors == (0.0, 0.0) {
            scenario.access.eifs = Eifs::Nav;
        }
        if errors.1 > 0.0 {
            scenario.access.rts_threshold = wifair_units::Bytes(u64::MAX);
        }
        let with_errors = |errors| with_errors(settings(&scenario), errors);
        let shared = |errors| wifair_mac::SharedChannel::new(scenario.access, 0, with_errors(errors));
        let errors = if shared(errors).is_exact() { errors } else { (0.0, 0.0) };
        let settings = with_errors(errors);
        let by_model = run!(dcf(&scenario, settings), &scenario, false);
        assert_same(&run!(shared(errors).general(), &scenario, false), &by_model);
        let (by_shortcut, _) = run!(shared(errors), &scenario, false, leap);
        assert_same(&by_model, &by_shortcut);
        assert_every_packet_ends_once(&by_shortcut);
    }

    /// Shared slot counts are equivalent to one count per contender.
    #[test]
    fn general_equals_reference(
        scenario in scenario(),
        (eifs_is_nav, cf_end) in (any::<bool>(), cf_end()),
        (data_error, control_error) in (prop_oneof![Just(0.0), 0.0..0.5], prop_oneof![Just(0.0), 0.0..0.5]),
        categories in prop::collection::vec(category(), 1..4),
        first in prop_oneof![Just(Prioritized::None), Just(Prioritized::Udp)],
    ) {
        let mut scenario = scenario.with_cf_end(cf_end);
        if eifs_is_nav {
            scenario.access.eifs = Eifs::Nav;
        }
        let settings = || {
            let mut settings = settings(&scenario);
            for station in &mut settings {
                station.data_error_to = data_error;
                station.data_error_from = data_error;
                station.control_error_to = control_error;
            }
            settings
        };
        let plain = run!(reference(&scenario, settings(), first, &categories), &scenario);
        let general = || general(&scenario, settings(), first, &categories);
        assert_same(&plain, &run!(general(), &scenario));
        assert_same(&without_records(plain), &run!(general(), &scenario, false, leap).0);
    }

    /// Four categories with A-MPDUs, A-MSDUs and block ACK give the same results as a model whose originator and
    /// recipient share nothing: each MPDU, retry, request, release and loss comes at the same instant.
    #[test]
    fn aggregates_equal_reference(
        scenario in scenario(),
        errors in (prop_oneof![Just(0.0), 0.0..0.5], prop_oneof![Just(0.0), 0.0..0.5]),
        categories in prop::collection::vec(category(), 1..5),
        rules in aggregation(),
        (by_receiver, is_dcf, is_narrow, is_extended) in any::<(bool, bool, bool, bool)>(),
        (cf_end, older, eifs_is_nav) in (cf_end(), older(), prop::bool::weighted(0.2)),
        protection in protection(),
    ) {
        let mut scenario = scenario.protected(protection).with_cf_end(cf_end).with_older(older);
        if eifs_is_nav {
            scenario.access.eifs = Eifs::Nav;
        }
        scenario.categories = categories.len();
        scenario.queue_limit *= 4;
        scenario.burst *= 3;
        let settings = || {
            let stations = with_errors(settings(&scenario), errors);
            let settings = with_categories(&scenario, stations, &categories, by_receiver);
            let settings = with_rules(settings, if is_narrow { 0 } else { 7 }, &rules);
            let mut settings = beside_older(&scenario, settings, is_extended, older);
            if is_dcf {
                settings.slot_rules = SlotRules::Dcf;
            }
            settings
        };
        let plain = run!(ReferenceChannel::new(settings()), &scenario);
        assert_every_packet_ends_once(&plain);
        assert_same(&plain, &run!(GeneralChannel::new(settings()), &scenario));
        assert_same(&without_records(plain), &run!(GeneralChannel::new(settings()), &scenario, false, leap).0);
    }

    #[test]
    fn every_packet_ends_once_whatever_the_categories(
        scenario in scenario(),
        (data_error, control_error) in (0.0..0.5, 0.0..0.5),
        categories in prop::collection::vec(category(), 1..4),
    ) {
        let mut settings = settings(&scenario);
        for station in &mut settings {
            station.data_error_to = data_error;
            station.data_error_from = data_error;
            station.control_error_to = control_error;
        }
        assert_every_packet_ends_once(&run!(reference(&scenario, settings, Prioritized::None, &categories), &scenario));
    }
}
