use crate::iprof::document::Document;
use crate::iprof::merge::{BranchClash, MergeOptions, Merger};
use crate::iprof::read::replay;
use crate::iprof::sections::BranchRow;
use crate::iprof::statistics::*;
use proptest::prelude::*;

const HEAD: &str = concat!(
    r#""version":"1.0.0","types":[{"id":0,"name":"app.Circle"},{"id":1,"name":"int"},{"id":2,"name":"app.Poly"},{"id":3,"name":"lib.Main"}],"#,
    r#""methods":[{"id":1,"name":"area","signature":[0,1,1]},{"id":2,"name":"mix","signature":[2,1]},{"id":3,"name":"step","signature":[3,1]},{"id":4,"name":"idle","signature":[3,1]}]"#
);

fn statistics_of(sections: &str, options: &StatisticsOptions) -> Statistics {
    let text = format!("{{{HEAD},{sections}}}");
    statistics_from(text.as_bytes(), options).unwrap().0
}

fn shown(statistics: &Statistics) -> String {
    let mut text = String::new();
    write_text(&mut text, statistics).unwrap();
    text
}

#[test]
fn samples_are_listed_by_hits_then_name() {
    let statistics = statistics_of(
        r#""samplingProfiles":[{"ctx":"1:4<3:2","records":[111]},{"ctx":"2:0<3:9","records":[27]},{"ctx":"3:1<3:5","records":[47]}]"#,
        &StatisticsOptions::default(),
    );
    assert!(shown(&statistics).contains(concat!(
        "Method name                       Hits        %\n",
        "app.Circle.area(int)               111   60.000\n",
        "lib.Main.step()                     47   25.405\n",
        "app.Poly.mix()                      27   14.595\n",
    )));
    let inclusive: Vec<_> = statistics.inclusive_samples.iter().map(|m| (m.method.as_str(), m.hits)).collect();
    // The recursive stack counts once for the method that recurs.
    assert_eq!(inclusive, [("lib.Main.step()", 185), ("app.Circle.area(int)", 111), ("app.Poly.mix()", 27)]);
    assert_eq!(statistics.coverage.executed, 0);
}

#[test]
fn calls_add_up_over_chains() {
    let statistics = statistics_of(
        r#""callCountProfiles":[{"ctx":"1:0","records":[10]},{"ctx":"1:0<3:2","records":[30]},{"ctx":"3:0","records":[60]}]"#,
        &StatisticsOptions::default(),
    );
    let hot: Vec<_> =
        statistics.hot_methods.iter().map(|m| (m.method.as_str(), m.calls, m.chains, m.inlined_share)).collect();
    assert_eq!(hot, [("lib.Main.step()", 60, 1, 0.0), ("app.Circle.area(int)", 40, 2, 0.75)]);
    let section = &statistics.sections[0];
    assert_eq!((section.sites, section.events, section.leaf_methods, section.max_depth), (3, 100, 2, 2));
    assert_eq!((statistics.coverage.executed, statistics.coverage.declared), (2, 4));
    let packages: Vec<_> =
        statistics.packages.iter().map(|p| (p.package.as_deref().unwrap(), p.executed, p.declared)).collect();
    assert_eq!(packages, [("app", 1, 2), ("lib", 1, 2)]);
}

#[test]
fn cases_without_position_count_for_the_target_they_share() {
    let row = |bci, index, count| BranchRow { bci, index, count };
    let target = |bci, index, events| BranchTarget { bci, index, events };
    assert_eq!(
        targets(&[row(142, 1, 5), row(-5, 1, 2), row(208, 0, 1), row(-5, 1, 3)]),
        [target(208, 0, 1), target(142, 1, 10)]
    );
    // An index with two real positions is two targets.
    assert_eq!(targets(&[row(9, 0, 1), row(7, 0, 2), row(-5, 0, 4)]), [target(7, 0, 6), target(9, 0, 1)]);
    assert_eq!(targets(&[row(6, 0, 1), row(6, 1, 2)]), [target(6, 0, 1), target(6, 1, 2)]);
}

#[test]
fn branches_fall_into_classes_by_bias() {
    let entries: Vec<String> = [(0, 0), (10, 0), (95, 5), (60, 40), (90, 10)]
        .iter()
        .enumerate()
        .map(|(at, (a, b))| format!(r#"{{"ctx":"1:{at}","records":[7,0,{a},9,1,{b}]}}"#))
        .collect();
    let statistics =
        statistics_of(&format!(r#""conditionalProfiles":[{}]"#, entries.join(",")), &StatisticsOptions::default());
    let branches = &statistics.branches;
    assert_eq!(
        (branches.executed, branches.one_sided, branches.biased, branches.mixed, branches.never_executed),
        (4, 1, 2, 1, 1)
    );
    // Equal events stay in the order of the file.
    let sites: Vec<_> = branches.sites.iter().map(|site| site.site.as_str()).collect();
    assert_eq!(
        sites,
        ["app.Circle.area(int):2", "app.Circle.area(int):3", "app.Circle.area(int):4", "app.Circle.area(int):1"]
    );
}

#[test]
fn receivers_count_only_if_they_were_seen() {
    let statistics = statistics_of(
        r#""virtualInvokeProfiles":[{"ctx":"1:1","records":[0,5,2,0]},{"ctx":"1:2","records":[0,1,2,3]},{"ctx":"1:3","records":[0,0]}],"monitorProfiles":[{"ctx":"0:0","records":[0,5,3,9]}]"#,
        &StatisticsOptions::default(),
    );
    let receivers = &statistics.receivers;
    assert_eq!((receivers.monomorphic, receivers.bimorphic, receivers.never_executed), (1, 1, 1));
    assert_eq!((receivers.sites[1].events, receivers.sites[1].dominant_share), (4, 0.75));
    assert_eq!(statistics.monitors[0].name, "lib.Main");
}

#[test]
fn callers_are_indented_below_their_callees() {
    let options = StatisticsOptions {
        callers: Some("app.Poly.mix".to_string()),
        positions: true,
        ..StatisticsOptions::default()
    };
    let statistics = statistics_of(r#""samplingProfiles":[{"ctx":"2:8<1:31<3:2","records":[27]}]"#, &options);
    assert!(shown(&statistics).ends_with(concat!(
        "Callers, by samples:\n",
        "app.Poly.mix()   27\n",
        "  app.Circle.area(int) @31   27  100 %\n",
        "    lib.Main.step() @2   27  100 %\n"
    )));
    let nothing = StatisticsOptions { callers: Some("no.Such".to_string()), ..StatisticsOptions::default() };
    let text = format!("{{{HEAD}}}");
    assert!(statistics_from(text.as_bytes(), &nothing).is_err());
}

#[test]
fn lists_are_bounded() {
    let options = StatisticsOptions { topn: 1, ..StatisticsOptions::default() };
    let statistics = statistics_of(
        r#""callCountProfiles":[{"ctx":"1:0","records":[5]},{"ctx":"3:0","records":[5]}],"conditionalProfiles":[{"ctx":"1:0","records":[1,0,1]},{"ctx":"1:2","records":[1,0,9]}]"#,
        &options,
    );
    assert_eq!(statistics.hot_methods[0].method, "app.Circle.area(int)");
    assert_eq!((statistics.hot_methods.len(), statistics.branches.sites.len()), (1, 1));
    assert_eq!(statistics.branches.sites[0].events, 9);
    assert!(shown(&statistics).ends_with(concat!(
        "Methods in counters: 2 of 4 declared\n",
        "         1 of        2   50.000 %  app\n",
        "         1 of        2             other packages: 1\n",
    )));
    assert_eq!(statistics.packages.len(), 2);
}

/// Statistics as JSON, without what only a file has.
fn content(statistics: &Statistics) -> serde_json::Value {
    let mut json = serde_json::to_value(statistics).unwrap();
    for member in ["version", "verdict", "sizes"] {
        json[member].take();
    }
    json["sections"].as_array_mut().unwrap().iter_mut().for_each(|section| drop(section["bytes"].take()));
    json
}

/// Sections of a few contexts, which repeat often and have few different counts.
fn sections() -> impl Strategy<Value = String> {
    let entries = |records: fn(u32) -> String| {
        let entry = (1..5u32, 0..3u32, 0..3u32).prop_map(move |(method, bci, count)| {
            format!(r#"{{"ctx":"{method}:{bci}<3:1","records":[{}]}}"#, records(count))
        });
        proptest::collection::vec(entry, 0..12).prop_map(|entries| entries.join(","))
    };
    let calls = proptest::collection::vec((1..5u32, 0..3u32), 0..9).prop_map(|calls| {
        let call = |(method, count): &(u32, u32)| format!(r#"{{"ctx":"{method}:0","records":[{count}]}}"#);
        calls.iter().map(call).collect::<Vec<_>>().join(",")
    });
    let branches = entries(|count| format!("7,{},{count},9,1,2", count % 2));
    let receivers = entries(|count| format!("0,{count},3,1"));
    (calls, branches, receivers.clone(), receivers, entries(|count| count.to_string())).prop_map(
        |(calls, branches, receivers, tests, samples)| {
            format!(
                r#""callCountProfiles":[{calls}],"conditionalProfiles":[{branches}],"virtualInvokeProfiles":[{receivers}],"monitorProfiles":[{{"ctx":"0:0","records":[0,3]}},{{"ctx":"0:0","records":[3,1]}}],"samplingProfiles":[{samples}],"instanceofProfiles":[{tests}]"#
            )
        },
    )
}

/// The statistics of a document without sizes: entries of one context are added up first, and all shapes of a branch.
fn statistics(document: &Document, options: &StatisticsOptions) -> Result<Statistics> {
    let mut merger = Merger::new(MergeOptions::resolving(BranchClash::Union));
    merger.add(document, 1)?;
    let (joined, _) = merger.finish_with_report()?;
    let mut collector = Collector::new(options)?;
    replay(&joined, &mut collector, &options.read.cancel)?;
    let mut statistics = collector.finish(&joined.tables)?;
    statistics.version = Some(document.version.to_string());
    Ok(statistics)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn a_file_and_its_document_have_the_same_statistics(sections in sections(), repeats_types in any::<bool>()) {
        let head = if repeats_types { HEAD.replace("app.Poly", "app.Circle") } else { HEAD.to_string() };
        let text = format!("{{{head},{sections}}}");
        let (callers, callees) = (Some("lib".to_string()), Some("area".to_string()));
        let options = StatisticsOptions { topn: 2, callers, callees, ..StatisticsOptions::default() };
        let (document, _) = crate::iprof::Reader::from_bytes(text.as_bytes(), &options.read).read().unwrap();
        let mut opened = 0;
        let open = || {
            opened += 1;
            Ok(text.as_bytes())
        };
        let (streamed, _) = read_statistics(open, &options).unwrap();
        prop_assert_eq!(content(&streamed), content(&statistics(&document, &options).unwrap()));
        prop_assert_eq!(opened, 2);
    }
}

#[test]
fn a_file_without_repeats_is_read_once() {
    let text = format!(r#"{{{HEAD},"callCountProfiles":[{{"ctx":"1:0","records":[5]}}]}}"#);
    let mut opened = 0;
    let open = || {
        opened += 1;
        Ok(text.as_bytes())
    };
    let (statistics, _) = read_statistics(open, &StatisticsOptions::default()).unwrap();
    assert_eq!((statistics.hot_methods[0].calls, opened), (5, 1));
}
