use super::*;

/// Parses words. Returns the outcome, standard output and standard error.
fn run(words: &[&str]) -> (Outcome, String, String) {
    run_for(Release::DEFAULT, words)
}

fn run_for(release: Release, words: &[&str]) -> (Outcome, String, String) {
    let program = Program { path: b"/usr/bin/llvm-profdata".to_vec(), name: b"llvm-profdata".to_vec(), release };
    let (mut out, mut faults) = (Vec::new(), Vec::new());
    let arguments = words.iter().map(OsString::from).collect();
    let outcome = parse(&program, arguments, &mut out, &mut faults).unwrap();
    (outcome, String::from_utf8(out).unwrap(), String::from_utf8(faults).unwrap())
}

fn parsed(words: &[&str]) -> Parsed {
    match run(words) {
        (Outcome::Run(parsed), ..) => parsed,
        (_, _, faults) => panic!("{words:?} was not understood: {faults}"),
    }
}

fn faults(words: &[&str]) -> String {
    match run(words) {
        (Outcome::Failed, _, faults) => faults,
        _ => panic!("{words:?} was understood"),
    }
}

#[test]
fn options_take_one_dash_or_two_and_mix_with_positionals() {
    let spellings: [&[&str]; 6] = [
        &["merge", "-sparse", "a", "-o", "out", "b"],
        &["merge", "--sparse", "--o=out", "a", "b"],
        &["merge", "a", "-output=out", "-sparse=true", "b"],
        &["merge", "a", "b", "--output", "out", "--sparse=1"],
        &["merge", "a", "-o=out", "--sparse=TRUE", "--", "b"],
        &["merge", "a", "-o", "first", "-o", "out", "--sparse=0", "--sparse=", "b"],
    ];
    for words in spellings {
        let parsed = parsed(words);
        assert_eq!(parsed.positionals, ["a", "b"], "{words:?}");
        assert_eq!(parsed.value("output"), Some(b"out".as_slice()), "{words:?}");
        assert!(parsed.is_on("sparse"), "{words:?}");
    }
}

#[test]
fn the_last_of_several_flags_wins() {
    let parsed = parsed(&["merge", "--text", "--binary", "--sparse", "--sparse=false"]);
    assert_eq!(parsed.last_of(&["text", "binary"]), Some("binary"));
    assert!(!parsed.is_on("sparse"));
}

/// llvm-profdata-13 and -14 reject a repeated option, -15 takes the last one.
#[test]
fn llvm_14_and_earlier_reject_repeated_options() {
    let cases: [(&[&str], &str); 6] = [
        (&["merge", "-text", "-binary"], "--binary"),
        (&["merge", "-text", "-text"], "--text"),
        (&["merge", "-extbinary", "-text"], "--text"),
        (&["merge", "-sample", "-text", "-instr"], "--instr"),
        (&["merge", "-j", "1", "--num-threads=2"], "--num-threads"),
        (&["show", "-counts", "a", "--counts=false"], "--counts"),
    ];
    for (words, option) in cases {
        for release in [13, 14].map(Release) {
            let (outcome, _, faults) = run_for(release, words);
            assert!(matches!(outcome, Outcome::Failed), "{words:?}");
            assert_eq!(faults, format!("llvm-profdata: for the {option} option: may only occur zero or one times!\n"));
        }
        assert!(matches!(run_for(Release(15), words).0, Outcome::Run(_)), "{words:?}");
    }
    let lists: [&[&str]; 2] = [
        &["merge", "--weighted-input=1,a", "--weighted-input=1,a", "-sample", "-text"],
        &["show", "--detailed-summary-cutoffs=1", "--detailed-summary-cutoffs=2", "a"],
    ];
    for words in lists {
        assert!(matches!(run_for(Release(14), words).0, Outcome::Run(_)), "{words:?}");
    }
}

#[test]
fn a_value_is_used_unchanged() {
    let parsed = parsed(&["merge", "-o", "--sparse", "--weighted-input", "3,x", "--weighted-input=4,-y", "-"]);
    assert_eq!(parsed.value("output"), Some(b"--sparse".as_slice()));
    let weighted: Vec<&[u8]> = parsed.values("weighted-input").collect();
    assert_eq!(weighted, [b"3,x".as_slice(), b"4,-y"]);
    assert_eq!(parsed.positionals, ["-"]);
}

#[test]
fn everything_after_two_dashes_is_positional() {
    assert_eq!(parsed(&["merge", "--", "a", "--text", "--"]).positionals, ["a", "--text", "--"]);
}

#[test]
fn numbers_have_the_prefixes_of_c_and_more() {
    let cases = [("10", 10), ("0x1f", 31), ("0X1F", 31), ("0b101", 5), ("0o17", 15), ("017", 15), ("0", 0)];
    for (text, expected) in cases {
        assert_eq!(unsigned(text.as_bytes()), Some(expected), "{text}");
    }
    for bad in ["", "x", "-1", "+1", "1 ", "0x", "08", "18446744073709551616", "0x+1"] {
        assert_eq!(unsigned(bad.as_bytes()), None, "{bad}");
    }
    assert_eq!(parsed(&["show", "--topn=0x10", "f"]).number("topn"), Some(16));
}

#[test]
fn library_options_are_accepted_by_every_command() {
    let parsed = parsed(&["merge", "--vp-counters-per-site", "1.5", "-write-prev-version", "--profile-isfs=0", "a"]);
    assert!(parsed.is_on("write-prev-version"));
    assert_eq!(parsed.positionals, ["a"]);
}

#[test]
fn faults_have_the_words_of_the_genuine_tool() {
    let unknown = |argument: &str| {
        format!("llvm-profdata: Unknown command line argument '{argument}'.  Try: '/usr/bin/llvm-profdata --help'\n")
    };
    let meant = |near: &str| format!("llvm-profdata: Did you mean '{near}'?\n");
    let of = |option: &str, text: &str| format!("llvm-profdata: for the {option} option: {text}\n");
    let cases: [(&[&str], String); 21] = [
        (&["merge", "--bogus", "a"], unknown("--bogus") + &meant("--gcc")),
        (&["merge", "--bogus", "-zz"], unknown("--bogus") + &meant("--gcc") + &unknown("-zz") + &meant("-h")),
        (&["merge", "-zz=3"], unknown("-zz=3") + &meant("--r=3")),
        (&["merge", "-ox"], of("-o", "may not occur within a group!") + &unknown("-ox") + &meant("-o")),
        (&["merge", "-j4"], of("-j", "may not occur within a group!") + &unknown("-j4") + &meant("-j")),
        (&["merge", "--otput=1"], { of("-o", "may not occur within a group!") + &unknown("--otput=1") + &meant("-o") }),
        (&["merge", "a", "-o"], of("-o", "requires a value!")),
        (&["merge", "--output"], of("--output", "requires a value!")),
        (&["merge", "-j", "x"], of("--num-threads", "'x' value invalid for uint argument!")),
        (&["merge", "--sparse=maybe"], { of("--sparse", "'maybe' is invalid value for boolean argument! Try 0 or 1") }),
        (&["merge", "--failure-mode=zz"], of("--failure-mode", "Cannot find option named 'zz'!")),
        (&["merge", "--correlate=x"], of("--correlate", "Cannot find option named 'x'!")),
        (&["merge", "--help=1"], of("--help", "does not allow a value! '1' specified.")),
        (&["merge", "-h=1"], of("-h", "does not allow a value! '1' specified.")),
        (&["merge", "--instr=1"], "Profile kind: option: does not allow a value! '1' specified.\n".into()),
        (&["show", "--detailed-summary-cutoffs=1,x"], {
            of("--detailed-summary-cutoffs", "'x' value invalid for uint argument!")
        }),
        (&["merge", "--zero-counter-threshold=x"], {
            of("--zero-counter-threshold", "'x' value invalid for floating point argument!")
        }),
        (&["merge", "--profile-summary-cutoff-hot=x"], {
            of("--profile-summary-cutoff-hot", "'x' value invalid for integer argument!")
        }),
        (&["show", "a", "b"], {
            "llvm-profdata: Too many positional arguments specified!\n\
             Can specify at most 1 positional arguments: See: /usr/bin/llvm-profdata --help\n"
                .into()
        }),
        (&["overlap", "a"], {
            "llvm-profdata: Not enough positional command line arguments specified!\n\
             Must specify at least 2 positional arguments: See: /usr/bin/llvm-profdata --help\n"
                .into()
        }),
        (&["merg", "a"], {
            "llvm-profdata: Unknown subcommand 'merg'.  Try: '/usr/bin/llvm-profdata --help'\n".to_string()
                + &meant("merge")
                + &unknown("a")
        }),
    ];
    for (words, expected) in cases {
        assert_eq!(faults(words), expected, "{words:?}");
    }
}

#[test]
fn help_overrides_other_options_and_earlier_errors() {
    let (outcome, out, faults) = run(&["merge", "--bogus", "--help", "--worse"]);
    assert!(matches!(outcome, Outcome::Done));
    assert!(out.starts_with("OVERVIEW: LLVM profile data\n\nSUBCOMMAND 'merge': "), "{out}");
    assert!(out.contains("USAGE: llvm-profdata merge [options] <filename...>\n\nOPTIONS:\n"), "{out}");
    assert!(faults.contains("--bogus") && !faults.contains("--worse"), "{faults}");
    let (_, out, _) = run(&["merge", "-version"]);
    assert!(out.contains("LLVM version 22."), "{out}");
}

#[test]
fn hidden_options_show_only_when_asked_for() {
    let (_, shown, _) = run(&["merge", "--help"]);
    let (_, all, _) = run(&["merge", "--help-hidden"]);
    assert!(!shown.contains("--dump-input-file-list") && all.contains("--dump-input-file-list"));
    assert!(shown.contains("  --output=<output>") && shown.contains("  -o "));
}
