//! Tests of iprof files with the classes of a newer build: the jar of `testdata`, edited and recompiled.

use crate::support::{Folder, available, functions, lost, names, testdata};
use std::collections::BTreeSet;

/// Returns a document of methods of `Shapes` with one call, branch or receiver each.
fn profile() -> String {
    let types = [
        "int",
        "long",
        "void",
        "Shapes$Poly",
        "Shapes$Circle",
        "Shapes",
        "Shapes$Shape",
        "java.lang.String",
        "elsewhere.Old",
    ];
    let types: Vec<String> =
        types.iter().enumerate().map(|(id, name)| format!(r#"{{"id":{id},"name":"{name}"}}"#)).collect();
    let methods = [
        ("mix", "3,0,1,0"),  // 0: Poly.mix(long,int), edited
        ("mix", "3,0,0"),    // 1: Poly.mix(int), as it was
        ("area", "4,0,0"),   // 2: Circle.area(int), its class renamed
        ("area", "3,0,0"),   // 3: Poly.area(int)
        ("deep", "5,0,0,6"), // 4: Shapes.deep, renamed
        ("text", "5,2"),     // 5: Shapes.text, gone
        ("step", "5,2,6,0"), // 6: Shapes.step
    ];
    let methods: Vec<String> = methods
        .iter()
        .enumerate()
        .map(|(id, (name, signature))| format!(r#"{{"id":{id},"name":"{name}","signature":[{signature}]}}"#))
        .collect();
    let calls: Vec<String> = (0..7).map(|id| format!(r#"{{"ctx":"{id}:0","records":[{}]}}"#, 10 + id)).collect();
    // The positions are from `javap -c`: conditional branches, and calls below.
    let branches = [("0:12", 20), ("1:8", 30), ("2:8", 40), ("4:1", 50)];
    let branches: Vec<String> = branches
        .iter()
        .map(|(context, count)| format!(r#"{{"ctx":"{context}","records":[11,0,{count},30,1,1]}}"#))
        .collect();
    let receivers = [(r#"6:5"#, 7), (r#"3:3<6:5"#, 3)];
    let receivers: Vec<String> =
        receivers.iter().map(|(context, count)| format!(r#"{{"ctx":"{context}","records":[3,{count}]}}"#)).collect();
    format!(
        r#"{{"version":"1.0.0","types":[{}],"methods":[{}],"callCountProfiles":[{}],"conditionalProfiles":[{}],"virtualInvokeProfiles":[{}]}}"#,
        types.join(","),
        methods.join(","),
        calls.join(","),
        branches.join(","),
        receivers.join(",")
    )
}

/// Returns the next version of the program.
fn edited() -> String {
    let source = std::fs::read_to_string(testdata("java/Shapes.java")).unwrap();
    let mut edited = source.clone();
    for (before, after) in [
        ("long h = seed;", "long h = seed * 3 + rounds;"),
        ("static int deep(int n, Shape shape)", "static int deeper(int n, Shape shape)"),
        ("deep(n - 1, shape) + 1", "deeper(n - 1, shape) + 1"),
        ("() -> deep(90, new Poly())", "() -> deeper(90, new Poly())"),
        ("static final class Circle", "static final class RoundCircle"),
        ("new Circle()", "new RoundCircle()"),
        ("static void text() {", "static void words(String unused) {"),
        ("            text();", "            words(null);"),
    ] {
        assert!(edited.contains(before), "{before}");
        edited = edited.replace(before, after);
    }
    edited
}

#[test]
fn the_jar_itself_fits_its_profile() {
    let folder = Folder::new();
    folder.write("app.iprof", profile());
    let report = folder.fit(&format!("app.iprof --against {}", testdata("java/Shapes.jar").display()));
    assert_eq!((functions(&report, "used"), &report["used_counts"]), (7, &1.0.into()), "{report:#}");
    // A receiver at an instruction that is not a call, and a branch at one that is not a branch.
    for (before, after) in [("3:3<6:5", "3:4<6:5"), ("1:8", "1:7")] {
        folder.write("other.iprof", profile().replace(before, after));
        let report = folder.fit(&format!("other.iprof --against {}", testdata("java/Shapes.jar").display()));
        assert_eq!(functions(&report, "changed"), 1, "{report:#}");
        assert!(report["lost"][0]["detail"].as_str().unwrap().starts_with("no such instruction at bytecode index "));
    }
}

#[test]
fn methods_of_the_jdk_are_compared_if_their_classes_are_given() {
    let folder = Folder::new();
    let declared = r#""signature":[5,2,6,0]}"#;
    let length = r#"{"id":7,"name":"length","signature":[7,0]}"#;
    let whole = profile()
        .replace(declared, &format!("{declared},{length}"))
        .replace(r#""callCountProfiles":["#, r#""callCountProfiles":[{"ctx":"7:0<6:5","records":[1000]},"#);
    folder.write("app.iprof", &whole);
    let jar = testdata("java/Shapes.jar").display().to_string();
    let report = folder.fit(&format!("app.iprof --against {jar}"));
    assert_eq!((functions(&report, "used"), functions(&report, "gone")), (7, 0), "{report:#}");
    assert_eq!(report["used_counts"], 1.0);
    // An entry in the JDK counts for the innermost method that is compared, like those that are lost.
    assert_eq!(report["functions"][0]["count"], 91 + 144 + 10 + 1000, "{report:#}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("not compared: 1 method of the JDK, whose classes are not given"), "{notes}");
    // Entries that were not compared stay.
    folder.run(&format!("profbridge fit app.iprof --against {jar} --prune -o pruned.iprof"));
    let pruned = std::fs::read_to_string(folder.path("pruned.iprof")).unwrap();
    assert!(pruned.contains("[1000]"), "{pruned}");
    // Another class of the package is given, so the method is gone.
    folder.write("other.iprof", whole.replace("java.lang.String", "sun.Text"));
    if available("methods_of_the_jdk_are_compared_if_their_classes_are_given", &["javac"]) {
        folder.write("Other.java", "package sun; class Other { int a() { return 1; } }");
        folder.run("javac -d classes Other.java");
        folder.run(&format!("cp {jar} classes/"));
        let report = folder.fit("other.iprof --against classes");
        assert_eq!(functions(&report, "gone"), 1, "{report:#}");
    }
}

#[test]
fn methods_in_contexts_of_lost_methods_only_are_not_used() {
    let folder = Folder::new();
    // Poly.mix(int) is called by Shapes.text alone, which is gone.
    let within =
        profile().replace(r#"{"ctx":"1:0","records":[11]},"#, "").replace(r#""ctx":"1:8""#, r#""ctx":"1:8<5:0""#);
    folder.write("app.iprof", within.replace("\"text\"", "\"gone\""));
    let report = folder.fit(&format!("app.iprof --against {}", testdata("java/Shapes.jar").display()));
    assert_eq!((functions(&report, "gone"), functions(&report, "unusable")), (1, 1), "{report:#}");
    let unusable = report["lost"].as_array().unwrap().iter().find(|row| row["class"] == "unusable").unwrap();
    assert_eq!(
        (&unusable["count"], &unusable["detail"]),
        (&0.into(), &"only in contexts of methods that are lost".into())
    );
}

#[test]
fn methods_of_hidden_classes_are_named_as_such() {
    let folder = Folder::new();
    folder.write("app.iprof", profile().replace("\"Shapes$Circle\"", "\"Shapes$$Lambda$7/0x00007f1b3c001a00\""));
    let report = folder.fit(&format!("app.iprof --against {}", testdata("java/Shapes.jar").display()));
    assert_eq!(functions(&report, "gone"), 1, "{report:#}");
    assert!(report["notes"].to_string().contains("gone: 1 method of hidden classes"), "{report:#}");
}

fn names_of(report: &serde_json::Value, class: &str) -> BTreeSet<String> {
    lost(report, class).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn an_edited_jar_shows_changed_methods() {
    if !available("an_edited_jar_tells_what_changed", &["javac", "jar"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("app.iprof", profile());
    folder.write("Shapes.java", edited());
    folder.run("javac -encoding UTF-8 -d classes Shapes.java");
    folder.run("jar cf app.jar -C classes .");
    let report = folder.fit("app.iprof --against app.jar");
    assert_eq!(folder.fit("app.iprof --against classes")["functions"], report["functions"]);
    assert_eq!(names_of(&report, "changed"), BTreeSet::from(["Shapes$Poly.mix(long,int)".to_string()]), "{report:#}");
    let now = |old: &str, new: &str| (old.to_string(), Some(new.to_string()));
    assert_eq!(
        lost(&report, "renamed"),
        BTreeSet::from([
            now("Shapes$Circle.area(int)", "Shapes$RoundCircle.area(int)"),
            now("Shapes.deep(int,Shapes$Shape)", "Shapes.deeper(int,Shapes$Shape)"),
        ])
    );
    assert_eq!(names_of(&report, "gone"), BTreeSet::from(["Shapes.text()".to_string()]));
    assert_eq!(functions(&report, "used"), 3, "{report:#}");
    assert!(names(&report["unprofiled"]).contains("Shapes.words(java.lang.String)"));
    // `--prune` keeps the entries that fit, so all entries of the output fit.
    folder.run("profbridge fit app.iprof --against app.jar --prune -o pruned.iprof");
    let pruned = folder.fit("pruned.iprof --against app.jar");
    assert_eq!((&pruned["used_functions"], &pruned["used_counts"]), (&1.0.into(), &1.0.into()), "{pruned:#}");
    assert_eq!(folder.failure("profbridge check pruned.iprof").0, Some(0));
}

#[test]
fn arrays_have_one_notation_in_all_lists() {
    let folder = Folder::new();
    let iprof = |methods: &str| {
        format!(
            r#"{{"version":"1.1.0","types":[{{"id":0,"name":"void"}},{{"id":1,"name":"A"}},{{"id":2,"name":"[[I"}},
            {{"id":3,"name":"[Ljava.lang.String;"}}],"methods":[{methods}],
            "callCountProfiles":[{{"ctx":"0:0","records":[1]}},{{"ctx":"1:0","records":[1]}}]}}"#
        )
    };
    let both = |name: &str, types: &str| {
        let method = format!(r#"{{"id":0,"name":"{name}","signature":[1,0,{types}]}}"#);
        format!(r#"{method},{{"id":1,"name":"stays","signature":[1,0]}}"#)
    };
    folder.write("old.iprof", iprof(&both("main", "3")));
    folder.write("new.iprof", iprof(&both("other", "2,3")));
    let report = folder.fit("old.iprof --against new.iprof");
    assert_eq!(names_of(&report, "gone"), BTreeSet::from(["A.main(java.lang.String[])".to_string()]), "{report:#}");
    assert!(names(&report["unprofiled"]).contains("A.other(int[][],java.lang.String[])"), "{report:#}");
}

#[test]
fn a_newer_iprof_gives_methods_and_moved_bytecode_indexes() {
    let folder = Folder::new();
    folder.write("old.iprof", profile());
    let moved =
        profile().replace(r#""name":"text""#, r#""name":"other""#).replace(r#""ctx":"0:12""#, r#""ctx":"0:16""#);
    folder.write("new.iprof", moved);
    let report = folder.fit("old.iprof --against new.iprof");
    assert_eq!(names_of(&report, "changed"), BTreeSet::from(["Shapes$Poly.mix(long,int)".to_string()]), "{report:#}");
    assert_eq!(names_of(&report, "gone"), BTreeSet::from(["Shapes.text()".to_string()]));
    let same = folder.fit("old.iprof --against old.iprof");
    assert_eq!((&same["used_functions"], &same["used_counts"]), (&1.0.into(), &1.0.into()));
    let (code, said) = folder.failure("profbridge fit old.iprof --against new.iprof --write-remapping x");
    assert!(code == Some(1) && said.contains("is not supported"), "{said}");
}
