//! A profile of any family.

use crate::call_chains::StackTable;
use crate::input::Family;
use crate::iprof::Document;
use crate::memprof::MemoryProfile;
use crate::model::Profile;
use crate::sampleprof::SampleProfile;

/// A profile of any family.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AnyProfile {
    /// An LLVM instrumentation profile.
    Instr(Profile),
    /// An LLVM sample profile.
    SampleProf(SampleProfile),
    /// An LLVM memory profile, also one that is alone in an indexed file.
    MemProf(MemoryProfile),
    /// A GraalVM profile.
    Iprof(Document),
    /// Sampled stacks: a recording, collapsed stacks or pprof.
    Stacks(StackTable),
}

impl AnyProfile {
    /// Returns the family.
    pub fn family(&self) -> Family {
        match self {
            Self::Instr(_) => Family::Instr,
            Self::SampleProf(_) => Family::SampleProf,
            Self::MemProf(_) => Family::MemProf,
            Self::Iprof(_) => Family::Iprof,
            Self::Stacks(_) => Family::Stacks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, WithWarnings};
    use crate::families::ReadOptions;
    use crate::input::Input;

    fn open(path: &str) -> WithWarnings<AnyProfile> {
        AnyProfile::open(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[test]
    fn every_family_is_read() {
        for (path, family) in [
            ("testdata/raw/clang-22-ir.profraw", Family::Instr),
            ("testdata/iprof/fibonacci.iprof", Family::Iprof),
            ("testdata/memprof/clang-22-histogram.yaml", Family::MemProf),
        ] {
            assert_eq!(open(path).value.family(), family, "{path}");
        }
        for (name, text, family) in [
            ("a.prof", "main:184019:0\n 4: 534\n", Family::SampleProf),
            ("a.collapsed", "main;f 3\nmain;g 4\n", Family::Stacks),
            ("a.proftext", ":ir\nmain\n1\n1\n5\n", Family::Instr),
        ] {
            let read = AnyProfile::open(Input::from_bytes(name, text.into()), &ReadOptions::default());
            assert_eq!(read.unwrap().value.family(), family, "{name}");
        }
    }

    #[test]
    fn dropped_records_are_warnings() {
        let text = ":ir\nf\n7\n2\n1\n2\n\nf\n7\n3\n1\n2\n3\n";
        let read = AnyProfile::open(Input::from_bytes("twice.proftext", text.into()), &ReadOptions::default()).unwrap();
        let [warning] = read.warnings.as_slice() else { panic!("{:?}", read.warnings) };
        assert_eq!(warning.function.as_deref(), Some(&b"f"[..]));
        assert_eq!(warning.path.as_deref(), Some("twice.proftext".as_ref()));
    }

    #[test]
    fn a_file_that_is_not_a_profile_is_an_error_with_its_path() {
        let input = Input::from_bytes("notes.txt", b"Dear diary, nothing happened.\n".to_vec());
        let error = AnyProfile::open(input, &ReadOptions::default()).unwrap_err();
        assert_eq!(error.path(), Some("notes.txt".as_ref()));
        assert!(!matches!(error.kind(), ErrorKind::Io { .. }), "{error}");
    }
}
