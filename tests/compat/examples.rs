//! Small profiles for different purposes.

/// IR level, with values of two kinds.
pub const A: &str = ":ir\nmain\n100\n3\n10\n20\n0\n2\n0\n1\n2\nhelper:5\na.c;cold:1\n1\n1\n1\n16:4\n\n\
                     helper\n7\n2\n0\n900\n\na.c;cold\n9\n1\n0\n\n";
/// The same functions, two of them changed, and another one.
pub const B: &str = ":ir\nmain\n100\n3\n1\n2\n3\n\nhelper\n7\n3\n1\n2\n3\n\nfresh\n1\n1\n12\n\n";
/// Three temporal traces.
pub const TRACES: &str = ":ir\n:temporal_prof_traces\n3\n3\n1\nf1,f2,f3\n2\nf3,f2,f1\n1\nf1,f4,a.c;f5\n\
                          f1\n1\n1\n1\n\nf2\n1\n1\n1\n\nf3\n1\n1\n1\n\nf4\n1\n1\n1\n\na.c;f5\n1\n1\n1\n\n";

/// The files in the directory of each test.
pub const FILES: &[(&str, &str)] = &[
    ("a.proftext", A),
    ("b.proftext", B),
    ("traces.proftext", TRACES),
    ("front-end.proftext", "main\n1\n2\n3\n4\n\n"),
    ("marked-front-end.proftext", ":fe\nmain\n1\n2\n3\n4\n\n"),
    ("context-sensitive.proftext", ":csir\nmain\n1152921504606846977\n2\n5\n6\n\nmain\n1\n2\n3\n4\n\n"),
    ("hot.proftext", ":ir\nmain\n100\n3\n18446744073709551615\n2\n0\n\n"),
    ("large.proftext", ":ir\nmain\n100\n3\n18446744073709551613\n9223372036854775808\n0\n\n"),
    ("blank.proftext", "\n\n\n"),
    ("empty", ""),
    ("rubbish", "\0\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}"),
    ("cut.proftext", ":ir\nmain\n100\n3\n10\n"),
    ("unknown-header.proftext", ":foo\nmain\n1\n1\n1\n"),
    ("bad-count.proftext", ":ir\nmain\n1\n2\n1\nx\n"),
    ("no-counters.proftext", "main\n1\n0\n"),
    ("bad-hash.proftext", "main\nx\n1\n1\n"),
    ("too-many-kinds.proftext", "main\n1\n1\n1\n9\n"),
    ("bad-kind.proftext", "main\n1\n1\n1\n1\n7\n1\n1\n3:4\n"),
    ("cut-trace.proftext", ":ir\n:temporal_prof_traces\n1\n"),
    ("memory.yaml", "---\nHeapProfileRecords: []\n...\n"),
    ("folder/x.proftext", A),
    ("list", "3,a.proftext\n# comment\n\n  b.proftext \n"),
    ("list-blank", " \n"),
    ("list-weight", "0,a.proftext\n"),
    ("list-missing", "missing\n"),
    ("list-comment", "# nothing\n"),
    ("words", "merge a.proftext 'b.proftext' --dump-input-file-list"),
    ("nested", "--sparse\n@inner \"a b\""),
    ("inner", "a.proftext\\\n b.proftext"),
    ("renames", "main renamed\nhelper h2\n"),
    ("renames-bad", "x y\nmain\n"),
];
