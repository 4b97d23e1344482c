//! Sweeps: the points that they produce, and the errors for invalid ones.

use proptest::prelude::*;
use wifair_config::Override;
use wifair_sim::scenario::Scenario;
use wifair_sim::scenario::sweep::{Axis, Design, Setting, Setup, SweepPlan};

const BASE: &str = r#"
name = "base"
duration = "10 s"
wlan.standard = "802.11b"
ap.queue.limit = "30 packets"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "sta"
count = 3
[[flows]]
name = "up"
station = "sta"
"#;

fn base() -> Scenario {
    Scenario::parse(BASE, "a.toml", &[]).unwrap()
}

fn setup(axes: &[&str], points: &[&str], samples: Option<u32>) -> Setup {
    Setup {
        axes: axes.iter().map(|text| Axis::parse(text, "--vary").unwrap()).collect(),
        points: points.iter().map(|text| Setting::parse(text, "--point").unwrap()).collect(),
        samples,
        design: Design::LatinHypercube,
        sample_seed: 1,
    }
}

/// The values of all points; those of one point are joined by spaces.
fn values(setup: &Setup) -> Vec<String> {
    let plan = SweepPlan::new(setup).unwrap_or_else(|(fault, _)| panic!("{}", fault.message));
    let base = base();
    (0..plan.count())
        .map(|index| match plan.point(index, &base) {
            Ok(changes) => changes.into_iter().map(|change| change.value).collect::<Vec<_>>().join(" "),
            Err((change, why)) => format!("{}: {why}", change.path),
        })
        .collect()
}

#[test]
fn axes_span_a_grid_with_the_first_outermost() {
    let setup = setup(&["stations.count = 2..4:2", "flows.tcp.cc = reno, vegas"], &[], None);
    assert_eq!(values(&setup), ["2 reno", "2 vegas", "4 reno", "4 vegas"]);
    assert_eq!(SweepPlan::new(&setup).unwrap().paths(), ["stations.count", "flows.tcp.cc"]);
}

#[test]
fn nothing_to_vary_is_one_point() {
    assert_eq!(values(&setup(&[], &[], None)), [""]);
}

#[test]
fn zipped_lists_go_together() {
    let setup = setup(&["stations.count = 2, 4; ap.queue.limit = 20 packets, 40 packets", "seeds = 1"], &[], None);
    assert_eq!(values(&setup), ["2 20 packets 1", "4 40 packets 1"]);
}

#[test]
fn listed_points_join_the_grid() {
    let setup =
        setup(&["flows.tcp.cc = reno, vegas"], &["stations.count = 2", "duration = 5 s; stations.count = 9"], None);
    assert_eq!(values(&setup), ["reno 2", "reno 5 s 9", "vegas 2", "vegas 5 s 9"]);
}

#[test]
fn values_may_depend_on_others() {
    let setup = setup(
        &[
            "stations.count = 2, 4",
            "ap.queue.limit = {2 * stations.count} packets",
            "servers.delay = {servers.delay}, {1000 * ap.queue.limit + stations.count} us",
        ],
        &[],
        None,
    );
    assert_eq!(
        values(&setup),
        ["2 4 packets 10 ms", "2 4 packets 4002 us", "4 8 packets 10 ms", "4 8 packets 8004 us"]
    );
    let by_name = self::setup(&["ap.queue.limit = {stations.sta.count + ap.queue.limit} packets"], &[], None);
    assert_eq!(values(&by_name), ["33 packets"], "names and values that are not varied come from the scenario");
    let nothing = self::setup(&["stations.count = {stations.number}"], &[], None);
    assert_eq!(values(&nothing), ["stations.count: `stations.number` stands for no single value of the scenario"]);
}

#[test]
fn what_is_drawn_goes_together() {
    let axes = ["servers.delay = uniform(1 ms, 2 ms)", "flows.tcp.cc = reno, vegas", "stations.count = integers(1, 4)"];
    let plan = values(&setup(&axes, &[], Some(4)));
    assert_eq!(plan.len(), 8);
    let mut counts: Vec<&str> = plan.iter().step_by(2).map(|point| point.split(' ').nth(2).unwrap()).collect();
    counts.sort_unstable();
    assert_eq!(counts, ["1", "2", "3", "4"], "every stratum is met once");
    assert_eq!(plan[0].replace("reno", "vegas"), plan[1]);
}

#[test]
fn what_does_not_fit_together_is_said() {
    let fault = |setup: &Setup| {
        let (fault, number) = SweepPlan::new(setup).unwrap_err();
        (fault.message, number)
    };
    let twice = setup(&["stations.count = 1", "stations.count = 2"], &[], None);
    assert_eq!(fault(&twice), ("`stations.count` is varied twice".to_owned(), Some(1)));
    let unsaid = setup(&["servers.delay = uniform(1 ms, 2 ms)"], &[], None);
    assert_eq!(fault(&unsaid), ("`servers.delay` is drawn, but nothing says how often".to_owned(), Some(0)));
    let idle = setup(&["stations.count = 1"], &[], Some(5));
    assert_eq!(fault(&idle), ("there is nothing to draw samples of".to_owned(), None));
    let both = setup(&["stations.count = 1"], &["stations.count = 2"], None);
    assert_eq!(fault(&both), ("`stations.count` is varied, and set by a point".to_owned(), Some(1)));
    let many = setup(&["stations.count = 1..100000", "ap.queue.limit = 1..100000"], &[], None);
    assert_eq!(fault(&many), ("more than 10000000 points".to_owned(), None));
}

#[test]
fn a_sweep_in_the_file_says_the_same() {
    let text = format!("{BASE}\n[sweep]\nvary = [\"stations.count = 1..3\"]\nstop_when = [\"ci(jain) < 5 %\"]\n");
    let scenario = Scenario::parse(&text, "a.toml", &[]).unwrap();
    assert_eq!(values(&scenario.file.sweep.setup()), ["1", "2", "3"]);
    assert_eq!(scenario.file.sweep.vary[0].origin, "a.toml:17:9");
    assert_eq!(scenario.file.sweep.stop_when[0].figure, "jain_index");
    assert_eq!(scenario.hash(), base().hash(), "runs do not depend on it");
    assert_eq!(scenario.to_toml(), base().to_toml());
}

#[test]
fn problems_of_a_sweep_in_the_file_have_their_place() {
    let problems = |sweep: &str, overrides: &[&str]| {
        let overrides: Vec<Override> = overrides.iter().map(|text| Override::set(text)).collect();
        Scenario::parse(&format!("{BASE}[sweep]\n{sweep}\n"), "a.toml", &overrides).unwrap_err().to_string()
    };
    assert_eq!(
        problems("vary = [\"stations.count = 20..2\"]", &[]),
        "error: `20..2` is empty
  --> a.toml:16:9
16 | vary = [\"stations.count = 20..2\"]
   |         ^^^^^^^^^^^^^^^^^^^^^^^^ the step does not lead from the first to the last
"
    );
    assert_eq!(
        problems("vary = [\"servers.delay = 1 ms\", \"servers.delay = 2 ms\"]", &[]),
        "error: `servers.delay` is varied twice
  --> a.toml:16:8
16 | vary = [\"servers.delay = 1 ms\", \"servers.delay = 2 ms\"]
   |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ put all of its values into one
"
    );
    assert!(problems("design = \"grid\"", &[]).contains("latin-hypercube, random"));
    assert!(problems("vary = [3]", &[]).contains("write \"stations.count = 2..20:2\""));
    assert!(problems("stop_when = [\"ci(jian) < 1\"]", &[]).contains("no figure `jian`"));
    assert!(problems("", &["sweep.samples=0"]).contains("must be from 1 to 1000000"));
}

proptest! {
    /// Any text gives points, or a message that refers to a place in the text.
    #[test]
    fn any_text_is_read_or_refused(text in "([a-z.]{0,5}|[0-9.]{0,4}|[-+*/(){}\\[\\]=;:,\"' ]|\\.\\.|uniform|ms|\\PC){0,12}") {
        for text in [text.clone(), format!("x = {text}"), format!("x = {{{text}}}")] {
            match Axis::parse(&text, "--vary") {
                Ok(axis) => {
                    let setup = Setup { axes: vec![axis], samples: Some(3), ..setup(&[], &[], None) };
                    if let Ok(plan) = SweepPlan::new(&setup) {
                        let _ = plan.point(0, &base());
                    }
                }
                Err(fault) => prop_assert!(fault.span.start <= fault.span.end && fault.span.end <= text.len()),
            }
            let _ = Setting::parse(&text, "--point");
        }
    }
}
