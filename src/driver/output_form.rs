//! The form of an output: given by the user or by the file extension.

use crate::compression::{Compression, uncompressed_name};
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::input::{Family, Input};
use std::path::Path;

/// A form of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutputForm {
    /// LLVM's raw format, `.profraw`.
    Raw,
    /// An indexed profile or a binary sample profile, `.profdata`, which LLVM's compilers read.
    Indexed,
    /// LLVM's text format for instrumentation or sample profiles; `.proftext`.
    Text,
    /// A sample profile in any encoding, `.afdo`.
    SampleProf,
    /// A memory profile in YAML; `.memprofyaml`, `.yaml`, `.yml`.
    MemProfYaml,
    /// An iprof.
    Iprof,
    /// JSON, which only an iprof uses.
    Json,
    /// Collapsed stacks; `.collapsed`, `.folded`.
    Collapsed,
    /// pprof; `.pprof`, `.pgo`, and `.pb` if it is not compressed.
    Pprof,
}

impl OutputForm {
    /// Returns the form that a file name selects, with or without the extension of a compression.
    ///
    /// # Errors
    ///
    /// A usage error for file extensions that written profiles never have, including those of compressions.
    pub fn of_name(path: &Path) -> Result<Option<Self>> {
        Compression::of_output(path)?;
        let Some((_, extension)) = uncompressed_name(path).and_then(|name| name.rsplit_once('.')) else {
            return Ok(None);
        };
        let refused = |detail: &str, hint: Hint| Err(Error::usage(detail).in_file(path).with_hint(hint));
        Ok(Some(match extension {
            "profraw" => Self::Raw,
            "profdata" => Self::Indexed,
            "proftext" => Self::Text,
            "afdo" => Self::SampleProf,
            "memprofyaml" | "yaml" | "yml" => Self::MemProfYaml,
            "iprof" => Self::Iprof,
            "json" => Self::Json,
            "collapsed" | "folded" => Self::Collapsed,
            "pprof" | "pgo" | "pb" => Self::Pprof,
            "jfr" => {
                let hint = "name the output .collapsed or .pprof, or .iprof for Java".into();
                return refused("cannot write JFR recordings", hint);
            }
            "memprofraw" => {
                let hint = "name the output .profdata or .memprofyaml".into();
                return refused("cannot write raw memory profiles", hint);
            }
            "lcov" | "info" => {
                let hint = "use `llvm-cov export -format=lcov PROGRAM -instr-profile=app.profdata`".into();
                return refused("a profile cannot be written as a coverage report", hint);
            }
            "svg" => return refused("a profile cannot be written as a drawing", Hint::DrawIt),
            "html" | "htm" => return refused("a profile cannot be written as an HTML page", Hint::ReportIt),
            _ => return Ok(None),
        }))
    }

    /// Returns the requested form, otherwise that of the file extension; `None` if neither selects one.
    ///
    /// # Errors
    ///
    /// A usage error if they contradict each other; the errors of [`of_name`](Self::of_name).
    pub fn choose(path: &Path, asked: Option<Self>) -> Result<Option<Self>> {
        let named = Self::of_name(path)?;
        match (asked, named) {
            (Some(asked), Some(named)) if !asked.fits(named) => {
                let detail = format!(
                    "{} was requested, but the file extension of the output selects {}",
                    asked.words(),
                    named.words()
                );
                let hint = format!("name the output {}, or omit the format", asked.extension());
                Err(Error::usage(detail).in_file(path).with_hint(hint))
            }
            (Some(asked), _) => Ok(Some(asked)),
            (None, named) => Ok(named),
        }
    }

    /// Returns true if a file of this form can have the extension of another.
    fn fits(self, named: Self) -> bool {
        self == named
            || matches!((self, named), (Self::Iprof, Self::Json) | (Self::Text | Self::Indexed, Self::SampleProf))
    }

    /// Resolves JSON to iprof, the only family that uses it.
    ///
    /// # Errors
    ///
    /// A usage error for JSON if the inputs are not iprof files.
    pub fn of_inputs(self, inputs: &[Input], output: &Path) -> Result<Self> {
        if self != Self::Json {
            return Ok(self);
        }
        // The reader reports inputs that cannot be opened.
        if inputs.iter().any(|input| input.family().is_ok_and(|family| family == Some(Family::Iprof))) {
            return Ok(Self::Iprof);
        }
        Err(Error::usage("only iprof profiles can be written as JSON, and no input is an iprof")
            .in_file(output)
            .with_hint(Hint::MakeIprofOrShow))
    }

    /// Returns the family of an output of this form, for inputs of a family.
    pub fn family(self, of_inputs: Option<Family>) -> Family {
        match self {
            Self::Iprof | Self::Json => Family::Iprof,
            Self::Collapsed | Self::Pprof => Family::Stacks,
            Self::SampleProf => Family::SampleProf,
            Self::Raw | Self::Indexed | Self::Text | Self::MemProfYaml => {
                of_inputs.filter(|family| *family == Family::SampleProf).unwrap_or(Family::Instr)
            }
        }
    }

    /// Returns the error for inputs that cannot be written in this form.
    pub(crate) fn refuse_for(self, what: &str, output: &Path, hint: impl Into<Hint>) -> Error {
        let detail = format!("{what} cannot be written as {}", self.words());
        Error::usage(detail).in_file(output).with_hint(hint)
    }

    /// Returns the file extension of this form, with its dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Raw => ".profraw",
            Self::Indexed => ".profdata",
            Self::Text => ".proftext",
            Self::SampleProf => ".afdo",
            Self::MemProfYaml => ".memprofyaml",
            Self::Iprof => ".iprof",
            Self::Json => ".json",
            Self::Collapsed => ".collapsed",
            Self::Pprof => ".pprof",
        }
    }

    /// Returns the name of such a file in messages.
    pub fn words(self) -> &'static str {
        match self {
            Self::Raw => "a raw profile",
            Self::Indexed => "an indexed profile",
            Self::Text => "a text profile",
            Self::SampleProf => "a sample profile",
            Self::MemProfYaml => "a memory profile in YAML",
            Self::Iprof => "an iprof",
            Self::Json => "JSON",
            Self::Collapsed => "collapsed stacks",
            Self::Pprof => "a pprof",
        }
    }

    /// Returns true if the form is readable text that can be printed on a terminal.
    pub fn is_text(self) -> bool {
        !matches!(self, Self::Raw | Self::Indexed | Self::SampleProf | Self::Pprof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(name: &str, asked: Option<OutputForm>) -> Result<Option<OutputForm>> {
        OutputForm::choose(Path::new(name), asked)
    }

    #[test]
    fn the_extension_selects_the_format_without_gz() {
        let forms = [
            ("a.profraw", Some(OutputForm::Raw)),
            ("a.profdata.gz", Some(OutputForm::Indexed)),
            ("d/a.proftext", Some(OutputForm::Text)),
            ("a.memprofyaml", Some(OutputForm::MemProfYaml)),
            ("a.iprof.gz", Some(OutputForm::Iprof)),
            ("a.folded", Some(OutputForm::Collapsed)),
            ("a.pb.gz", Some(OutputForm::Pprof)),
            ("a.profdata.zst", Some(OutputForm::Indexed)),
            ("a.prof", None),
            ("a.gz", None),
            ("profdata", None),
            ("-", None),
            (".", None),
        ];
        for (name, form) in forms {
            assert_eq!(choose(name, None).unwrap(), form, "{name}");
        }
        for name in ["a.jfr", "a.memprofraw", "a.svg", "a.svgz", "a.html", "a.profdata.xz"] {
            assert!(choose(name, None).is_err(), "{name}");
            assert!(choose(name, Some(OutputForm::Indexed)).is_err(), "{name}");
        }
    }

    #[test]
    fn a_requested_format_must_not_contradict_the_extension() {
        use OutputForm::{Indexed, Iprof, Json, Text};
        assert_eq!(choose("a.data", Some(Text)).unwrap(), Some(Text));
        assert_eq!(choose("-", Some(Iprof)).unwrap(), Some(Iprof));
        assert_eq!(choose("a.json", Some(Iprof)).unwrap(), Some(Iprof));
        let said = choose("a.profdata", Some(Text)).unwrap_err();
        assert!(said.to_string().contains("a text profile was requested"), "{said}");
        assert!(said.hint().unwrap().to_string().contains(".proftext"), "{said}");
        for (name, asked) in [("a.iprof", Indexed), ("a.proftext", Indexed), ("a.iprof", Json)] {
            assert!(choose(name, Some(asked)).is_err(), "{name}");
        }
    }

    #[test]
    fn every_form_has_an_ending_of_its_own() {
        use OutputForm::*;
        for form in [Raw, Indexed, Text, SampleProf, MemProfYaml, Iprof, Json, Collapsed, Pprof] {
            assert_eq!(choose(&format!("a{}", form.extension()), None).unwrap(), Some(form));
        }
    }
}
