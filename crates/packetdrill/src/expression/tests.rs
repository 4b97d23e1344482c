use super::*;

fn check(code: &str) -> Result<Variables, String> {
    let statements = parse(code, ScriptPlace { line: 1, column: 1 }).map_err(|error| error.message)??;
    let mut variables = Variables::new();
    let lookup = |name: &str| match name {
        "tcpi_snd_cwnd" => Some(10),
        "tcpi_rtt" => Some(100_000),
        _ => None,
    };
    run(&statements, &mut variables, &lookup).map_err(|failure| format!("{failure:?}"))?;
    Ok(variables)
}

#[test]
fn assertions_compare_and_compute() {
    for code in [
        "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
        "assert 98000 <= tcpi_rtt <= 110000, 'rtt %d' % tcpi_rtt",
        "assert tcpi_snd_cwnd > 5 and not tcpi_snd_cwnd > 20; assert 7 // 2 == 3 and -7 % 3 == 2",
        "print(tcpi_snd_cwnd); cwnd = 8; cwnd += 2; assert tcpi_snd_cwnd == cwnd, tcpi_snd_cwnd",
        "x = 0x7fffffff\nassert x == 2147483647 # as in a comment\nassert (x > 1 or\n  False)",
        "assert (tcpi_snd_cwnd & 2) == 2 and tcpi_snd_cwnd | 1 == 11",
        "assert abs(-3) == max(1, 3, 2), (tcpi_rtt, tcpi_snd_cwnd)",
    ] {
        assert!(check(code).is_ok(), "{code}: {:?}", check(code));
    }
}

#[test]
fn a_false_assertion_tells_its_values() {
    let failure = check("assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd").unwrap_err();
    assert!(failure.contains("is false: tcpi_snd_cwnd = 10"), "{failure}");
}

/// Anything beyond arithmetic, such as imports, calls or attributes, is unsupported or malformed.
#[test]
fn code_can_do_nothing_but_compute() {
    for code in [
        "import os",
        "__import__('os').system('true')",
        "x = open('/etc/passwd')",
        "for i in range(3): pass",
        "assert x.__class__",
        "exec('1')",
        "assert unknown == 1",
        "assert 1 / 0",
        "assert (",
    ] {
        assert!(check(code).is_err(), "{code}");
    }
}

/// A construct that is well formed in Python but not part of this language is named as unsupported; the script has no
/// error. The controls are malformed in Python, too.
#[test]
fn other_python_is_unsupported() {
    let parsed = |code: &str| parse(code, ScriptPlace { line: 1, column: 1 });
    for (code, what) in [
        ("assert 2**3 == 8", "**"),
        ("assert 1 << 3 == 8", "<<"),
        ("assert 8 >> 3 == 1", ">>"),
        ("assert tcpi_snd_cwnd in (9, 10)", "in"),
        ("assert (tcpi_snd_cwnd not in (9, 10))", "not"),
        ("assert ~0 == -1", "~"),
        ("assert 6 ^ 5 == 3", "^"),
        ("x = 1 if tcpi_snd_cwnd else 2", "if"),
        ("assert tcpi_snd_cwnd is not None", "is"),
        ("x = [1, 2]", "["),
        ("x = {1: 2}", "{"),
        ("x = (1, 2)[0]", "["),
        ("x = lambda: 1", "lambda"),
        ("assert 'a' 'b'", "strings"),
        ("assert 1, f'{tcpi_snd_cwnd}'", "strings"),
        ("x **= 2", "x"),
        ("x <<= 2", "x"),
    ] {
        match parsed(code) {
            Ok(Err(reason)) => assert!(reason.contains(what), "{code}: {reason}"),
            other => panic!("{code}: {other:?}"),
        }
    }
    for code in ["assert ** 2", "assert 1 +", "assert in (1, 2)", "assert (1", "assert 1 2", "assert 1 )", "assert"] {
        assert!(parsed(code).is_err(), "{code}: {:?}", parsed(code));
    }
}

#[test]
fn deep_nesting_is_refused() {
    assert!(check(&format!("assert {}1{}", "(".repeat(5000), ")".repeat(5000))).is_err());
}
