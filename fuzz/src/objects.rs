//! Programs and class files for `fit` must not cause a panic.

use profbridge::Limits;
use profbridge::families::report_program;
use profbridge::fit::{CodeSites, JavaProgram, read_program, read_sampled_program};
use std::path::Path;

/// All readers of a new build. Their results must be consistent.
pub fn objects(data: &[u8]) {
    let limits = Limits::default();
    if let Ok(program) = read_program(Path::new("image"), data, &limits) {
        assert!(program.functions().is_sorted_by_key(|function| program.name(function)));
    }
    if let Ok(program) = read_sampled_program(Path::new("image"), data, &limits) {
        assert!(!program.functions.is_empty());
    }
    let _ = report_program(Path::new("image"), data, &limits);
    let mut classes = JavaProgram::of_classes();
    let _ = classes.add_classes(data, &limits);
    if let Some(sites) = CodeSites::of(data) {
        assert!(sites.branches.is_subset(&sites.instructions) && sites.calls.is_subset(&sites.instructions));
    }
}
