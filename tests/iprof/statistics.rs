//! Tests of the statistics of `show` and `diff`, with numbers computed by hand.

use crate::program::{json, path, succeed};
use crate::schema::assert_has_schema;
use serde_json::{Value, json};

/// The comments have the computation of each number for `statistics.iprof`.
#[test]
fn show_matches_its_definitions() {
    let folder = tempfile::tempdir().expect("a folder");
    let shown = json(&succeed(folder.path(), &["show", "--json", &path("statistics.iprof")]));
    assert_has_schema(&shown, "show-iprof-2.json");
    let list = |name: &str, members: &[&str]| -> Vec<Vec<Value>> {
        let rows = shown.pointer(name).and_then(Value::as_array).expect("a list");
        rows.iter().map(|row| members.iter().map(|member| row[*member].clone()).collect()).collect()
    };
    // Sites, events, distinct innermost methods, frames: for calls (1 + 2 + 3 + 1) / 4, and so on.
    assert_eq!(
        list("/sections", &["section", "sites", "events", "leaf_methods", "mean_depth", "max_depth"]),
        [
            vec![json!("callCountProfiles"), json!(4), json!(100), json!(3), json!(1.75), json!(3)],
            vec![json!("conditionalProfiles"), json!(5), json!(130), json!(2), json!(1.2), json!(2)],
            vec![json!("virtualInvokeProfiles"), json!(5), json!(31), json!(1), json!(1.0), json!(1)],
            vec![json!("monitorProfiles"), json!(1), json!(11), json!(0), json!(0.0), json!(0)],
            vec![json!("samplingProfiles"), json!(3), json!(10), json!(3), json!(7.0 / 3.0), json!(3)],
            vec![json!("instanceofProfiles"), json!(1), json!(7), json!(1), json!(1.0), json!(1)],
        ]
    );
    // 20 alone and 60 in a chain, 15 in a chain, 5 alone.
    assert_eq!(
        list("/hot_methods", &["method", "calls", "share", "chains", "inlined_share"]),
        [
            vec![json!("app.Shape.area(int)"), json!(80), json!(0.8), json!(2), json!(0.75)],
            vec![json!("app.Shape.draw()"), json!(15), json!(0.15), json!(1), json!(1.0)],
            vec![json!("app.Main.main()"), json!(5), json!(0.05), json!(1), json!(0.0)],
        ]
    );
    // Stacks: area < area < main 6, draw < area < main 3, log 1. Equal counts are ordered by name.
    assert_eq!(
        list("/exclusive_samples", &["method", "hits", "share"]),
        [
            vec![json!("app.Shape.area(int)"), json!(6), json!(0.6)],
            vec![json!("app.Shape.draw()"), json!(3), json!(0.3)],
            vec![json!("lib.Util.log(java.lang.String)"), json!(1), json!(0.1)],
        ]
    );
    assert_eq!(
        list("/inclusive_samples", &["method", "hits"]),
        [
            vec![json!("app.Main.main()"), json!(9)],
            vec![json!("app.Shape.area(int)"), json!(9)],
            vec![json!("app.Shape.draw()"), json!(3)],
            vec![json!("lib.Util.log(java.lang.String)"), json!(1)],
        ]
    );
    // 10:0, 9:1, 89:11, a switch of 5:5 whose case without position shares index 1, and one without counts.
    let classes = ["executed", "never_executed", "one_sided", "biased", "mixed"].map(|name| &shown["branches"][name]);
    assert_eq!(classes, [4, 1, 1, 1, 2]);
    assert_eq!(
        list("/branches/sites", &["events", "bias"]),
        [[json!(100), json!(0.89)], [json!(10), json!(1.0)], [json!(10), json!(0.9)], [json!(10), json!(0.5)]]
    );
    let classes = ["monomorphic", "bimorphic", "polymorphic", "saturated", "never_executed"];
    assert_eq!(classes.map(|name| &shown["receivers"][name]), [1, 1, 1, 1, 1]);
    assert_eq!(
        list("/receivers/sites", &["events", "class", "dominant_share"]),
        [
            [json!(16), json!("saturated"), json!(0.125)],
            [json!(8), json!("bimorphic"), json!(0.625)],
            [json!(4), json!("monomorphic"), json!(1.0)],
            [json!(3), json!("polymorphic"), json!(1.0 / 3.0)],
        ]
    );
    // Methods that were only sampled do not count as executed.
    assert_eq!(
        list("/packages", &["package", "executed", "declared"]),
        [[json!("app"), json!(3), json!(3)], [json!("lib"), json!(0), json!(2)]]
    );
    assert_eq!(list("/monitors", &["type", "events"])[0], [json!("app.Shape"), json!(9)]);
}

#[test]
fn call_chains_count_a_recursive_stack_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let show = |option: &str| succeed(folder.path(), &["show", option, "app.Shape.area", &path("statistics.iprof")]);
    assert!(show("--callees").ends_with(
        "Callees, by samples:\n\
         app.Shape.area(int)   9\n  app.Shape.area(int)   6  67 %\n  app.Shape.draw()   3  33 %\n"
    ));
    assert!(show("--callers").ends_with(
        "Callers, by samples:\n\
         app.Shape.area(int)   9\n  app.Shape.area(int)   6  67 %\n    app.Main.main()   6  100 %\n  app.Main.main()   3  33 %\n"
    ));
}

/// `older.iprof` and `newer.iprof` have the same methods with different ids. Only the older one has the overload
/// `step(int)`.
#[test]
fn diff_matches_its_definitions() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [path("older.iprof"), path("newer.iprof")];
    let found = json(&succeed(folder.path(), &["diff", "--json", &files[0], &files[1]]));
    assert_has_schema(&found, "diff-2.json");
    let close = |value: &Value, expected: f64| value.as_f64().is_some_and(|value| (value - expected).abs() < 1e-12);
    for (section, overlap, jaccard) in [
        // main 1/200, run 10/200 of each; 2 of 7 chains.
        ("callCountProfiles", 0.055, 2.0 / 7.0),
        // step():2 goes to 5 and 9: 8/50 and 2/50 against 3/20 and 7/20.
        ("conditionalProfiles", 0.15 + 0.04, 2.0 / 7.0),
        ("virtualInvokeProfiles", 0.25, 0.5),
        ("monitorProfiles", 1.0, 1.0),
        ("samplingProfiles", 0.0, 0.0),
        ("instanceofProfiles", 0.0, 0.0),
    ] {
        let sections = found["sections"].as_array().expect("a list");
        let row = sections.iter().find(|row| row["section"] == section).expect("the section is there");
        assert!(close(&row["overlap"], overlap) && close(&row["jaccard"], jaccard), "{row}");
    }
    assert_eq!(found["smallest_overlap"], 0.0);
    assert_eq!(found["functions_by"], "calls");
    assert_eq!(found["risers"], json!([{"function": "app.A.fresh()", "first_share": 0.0, "second_share": 0.695}]));
    assert_eq!(
        found["fallers"],
        json!([
            {"function": "app.A.step()", "first_share": 0.9, "second_share": 0.25},
            {"function": "app.A.step(int)", "first_share": 0.045, "second_share": 0.0},
        ])
    );
    assert_eq!(found["new_functions"], json!({"count": 1, "functions": ["app.A.fresh()"]}));
    assert_eq!(found["lost_functions"], json!({"count": 1, "functions": ["app.A.step(int)"]}));
    let change = |site: &str, first: &str, second: &str, events: u64| {
        json!({"count": 1, "compared": 1,
            "sites": [{"site": site, "first": first, "second": second, "events": events}]})
    };
    assert_eq!(found["flipped_branches"], change("app.A.step():2", "5", "9", 20));
    assert_eq!(found["changed_receivers"], change("app.A.step():6", "app.Main", "app.A", 9));
}

#[test]
fn relevance_and_applicability_match_their_definitions() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [path("older.iprof"), path("newer.iprof")];
    let found = json(&succeed(folder.path(), &["diff", "--json", &files[0], &files[1]]));
    let fit = &found["fit"];
    let numbers = ["entries", "relevant_entries", "events", "relevant_events"];
    let sites = ["sites", "exact_sites", "partial_sites", "leaf_sites"];
    for (at, (section, relevance, applicability)) in [
        // Two of five contexts have step(int), as leaf 9 and as caller 80. Of main(), run(int) < main():3,
        // step() < run(int):5 < main():4 and fresh(), the third has another outermost frame in the older.
        ("callCountProfiles", [5, 3, 200, 111], [4, 2, 2, 3]),
        // The older one has run(int):8 alone, the newer one below main().
        ("conditionalProfiles", [3, 2, 50, 20], [3, 1, 2, 2]),
        ("virtualInvokeProfiles", [1, 1, 4, 4], [1, 1, 1, 1]),
        ("samplingProfiles", [1, 1, 3, 3], [0, 0, 0, 0]),
        ("instanceofProfiles", [0, 0, 0, 0], [1, 0, 0, 0]),
    ]
    .into_iter()
    .enumerate()
    {
        let row = &fit["sections"][at];
        assert_eq!(row["section"], section);
        assert_eq!(numbers.map(|name| row[name].as_u64()), relevance.map(Some), "{section}");
        assert_eq!(sites.map(|name| row[name].as_u64()), applicability.map(Some), "{section}");
        if relevance[0] == 0 {
            assert!(row["relevance"].is_null() && row["weighted_relevance"].is_null());
        }
    }
    assert!(fit["sections"][5].is_null(), "monitors belong to no method");
    assert_eq!(fit["relevance"], 0.7);
    assert_eq!(fit["applicability"], json!({"exact": 4.0 / 9.0, "partial": 5.0 / 9.0, "leaf": 6.0 / 9.0}));
    let text = succeed(folder.path(), &["diff", &files[0], &files[1]]);
    assert!(
        text.contains(
            "\ncallCountProfiles                5    60.000 %    55.500 %         4    50.000 %    50.000 %    75.000 %\n"
        ) && text.contains(
            "\nsamplingProfiles                 1   100.000 %   100.000 %         0           -           -           -\n"
        ),
        "{text}"
    );
    // The reverse comparison gives other numbers.
    let back = json(&succeed(folder.path(), &["diff", "--json", &files[1], &files[0]]));
    assert_eq!(back["fit"]["sections"][0]["relevant_entries"], 3);
    assert_eq!(back["fit"]["sections"][0]["leaf_sites"], 4);
}

/// Repeated items of a file count once: a context, a branch with several shapes, a method with two ids.
#[test]
fn statistics_are_of_contexts_and_methods_not_of_entries() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = concat!(
        r#"{"version":"1.0.0","types":[{"id":0,"name":"A"}],"#,
        r#""methods":[{"id":0,"name":"m","signature":[0,0]},{"id":1,"name":"m","signature":[0,0]}],"#,
        r#""callCountProfiles":[{"ctx":"0:0","records":[3]},{"ctx":"1:0","records":[4]},{"ctx":"0:0","records":[5]}],"#,
        r#""conditionalProfiles":[{"ctx":"0:3","records":[5,0,9,8,1,1]},{"ctx":"0:3","records":[5,0,1,7,1,1]}],"#,
        r#""virtualInvokeProfiles":[{"ctx":"0:4","records":[0,6]},{"ctx":"1:4","records":[0,1]}]}"#
    );
    std::fs::write(folder.path().join("repeats.iprof"), text).expect("written");
    let shown = json(&succeed(folder.path(), &["show", "--json", "repeats.iprof"]));
    assert_has_schema(&shown, "show-iprof-2.json");
    let totals: Vec<_> =
        shown["sections"].as_array().expect("a list").iter().map(|s| (&s["sites"], &s["events"])).collect();
    assert_eq!(totals, [(&json!(1), &json!(12)), (&json!(1), &json!(12)), (&json!(1), &json!(7))]);
    assert_eq!(
        shown["hot_methods"],
        json!([{"method": "A.m()", "calls": 12, "share": 1.0, "chains": 1, "inlined_share": 0.0}])
    );
    // 10 of 12 events go to 5.
    let branches = &shown["branches"];
    assert_eq!((&branches["executed"], &branches["mixed"]), (&json!(1), &json!(1)));
    assert_eq!(branches["sites"][0]["targets"][0], json!({"bci": 5, "index": 0, "events": 10}));
    assert_eq!(shown["receivers"]["monomorphic"], 1);
    assert_eq!((&shown["coverage"]["declared"], &shown["coverage"]["executed"]), (&json!(1), &json!(1)));
    // Sizes are those of the file.
    let bytes: Vec<_> = shown["sections"].as_array().expect("a list").iter().map(|s| s["bytes"].as_u64()).collect();
    assert!(bytes.iter().all(|bytes| bytes.is_some_and(|bytes| bytes > 50)), "{bytes:?}");
    assert_eq!(shown["sizes"].as_array().map(Vec::len), Some(6));
}
