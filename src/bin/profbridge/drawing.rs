//! Common options of the commands that draw profiles: inputs, baseline, output and heading.

use crate::console;
use crate::memprof::DrawMemoryArgs;
use crate::outputs::{guard, refuse_terminal};
use crate::stacks::{StackArgs, no_samples};
use clap::Args;
use profbridge::call_chains::MethodPattern;
use profbridge::compression::{Compression, uncompressed_name};
use profbridge::families::draw::{Content, DrawOptions, Drawing, View, outlined_graph, title_of};
use profbridge::families::stack_files::read_stacks;
use profbridge::families::{OutputForm, Written};
use profbridge::input::{Input, output};
use profbridge::render::{FlameGraph, SvgOptions};
use profbridge::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options for inputs, baseline, output and heading.
#[derive(Debug, Args)]
pub(crate) struct PictureArgs {
    /// JFR recordings, collapsed or folded stacks, pprof, iprof files, memory profiles, for reports also LLVM profiles;
    /// `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// A profile of the same kind to compare with
    #[arg(long, value_name = "FILE")]
    baseline: Vec<PathBuf>,
    /// The output file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The title [default: the names of the inputs]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Use only stacks that contain METHOD: a package, class, method, or /REGEX/
    #[arg(long, visible_alias = "filter", value_name = "METHOD")]
    include: Vec<String>,
    /// Use only stacks that do not contain METHOD
    #[arg(long, value_name = "METHOD")]
    exclude: Vec<String>,
    /// Start with the running methods, and draw their callers
    #[arg(long)]
    reverse: bool,
    /// Merge the callees of METHOD from all stacks; with --reverse, merge its callers
    #[arg(long, value_name = "METHOD")]
    merge: Option<String>,
    /// Draw each thread separately
    #[arg(long)]
    per_thread: bool,
    /// Keep the mangled names of C++ and Rust functions; recordings of perf never have them
    #[arg(long)]
    no_demangle: bool,
    #[command(flatten)]
    stacks: StackArgs,
    #[command(flatten)]
    memory: DrawMemoryArgs,
}

/// File extensions of image formats that cannot be written.
const OTHER_PICTURES: [&str; 6] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"];

/// The format of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PictureFormat {
    /// An HTML page.
    Html,
    /// An SVG image.
    Svg,
}

impl PictureArgs {
    /// Reads the inputs and the baseline, and writes the result of `draw`.
    pub(crate) fn run(&self, draw: impl FnOnce(&Drawing) -> Result<String>) -> Result<ExitCode> {
        self.refuse_output()?;
        let drawing = Drawing::read(arguments(&self.inputs), arguments(&self.baseline), self.options()?)?;
        drawing.warnings.iter().for_each(console::warning);
        if self.baseline.is_empty() {
            self.reject_empty_result(drawing.content())?;
        }
        self.write(&draw(&drawing)?)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Draws one large text without reading all of it; `None` if other options are given.
    pub(crate) fn run_outlined(
        &self,
        svg: &SvgOptions,
        draw: impl FnOnce(String, &FlameGraph) -> String,
    ) -> Result<Option<ExitCode>> {
        self.refuse_output()?;
        let [input] = &self.inputs[..] else { return Ok(None) };
        let is_filtered = self.is_filtered() || !self.stacks.takes_all();
        if !self.baseline.is_empty() || self.is_turned() || is_filtered {
            return Ok(None);
        }
        let Some((mut graph, warnings)) = outlined_graph(&Input::argument(input), &self.stacks.read_options(), svg)?
        else {
            return Ok(None);
        };
        warnings.iter().for_each(console::warning);
        if !self.no_demangle {
            graph.demangle();
        }
        self.write(&draw(self.title(), &graph))?;
        Ok(Some(ExitCode::SUCCESS))
    }

    /// Rejects outputs with the file extension of a profile or of another image format, and outputs that are inputs.
    pub(crate) fn refuse_output(&self) -> Result<()> {
        let inputs: Vec<Input> = self.inputs.iter().chain(&self.baseline).map(Input::argument).collect();
        guard(&inputs, &self.output, "a flame graph", Written::Report)?;
        self.stacks.refuse_without_effect(&inputs)?;
        DrawMemoryArgs::refuse_without_effect(&inputs)?;
        let name = self.output.to_string_lossy().to_ascii_lowercase();
        if let Some(extension) = OTHER_PICTURES.iter().find(|extension| name.ends_with(**extension)) {
            let error = Error::usage(format!("cannot write {extension} files")).in_file(&self.output);
            return Err(error.with_hint("name the output .svg or .html"));
        }
        match OutputForm::of_name(&self.output) {
            Ok(Some(form)) if self.named_format().is_none() => {
                let error =
                    Error::usage(format!("a flame graph cannot be written as {}", form.words())).in_file(&self.output);
                Err(error.with_hint("name the output .svg or .html, or use `profbridge convert` to write a profile"))
            }
            _ => Ok(()),
        }
    }

    /// Rejects an empty drawing if the options select stacks. Stacks in the baseline alone are enough for a drawing.
    fn reject_empty_result(&self, content: &Content) -> Result<()> {
        let is_chosen = self.is_filtered() || !self.stacks.takes_all();
        match content.has_stacks() {
            None if is_chosen => {
                let error = Error::usage("the profile has no stacks").in_file(&self.inputs[0]);
                return Err(error.with_hint("omit --include, --exclude and the options for stacks"));
            }
            // The notes of an iprof or a memory profile are worth a page.
            Some(false) if is_chosen || matches!(content, Content::Stacks(_)) => {}
            _ => return Ok(()),
        }
        let inputs = arguments(&self.inputs);
        if !self.is_filtered() && !inputs.iter().any(Input::is_pipe) {
            let (table, _) = read_stacks(&inputs, &self.stacks.read_options())?;
            return Err(no_samples(&table).in_file(&self.inputs[0]));
        }
        let hint = "no stack of the input matches --include, --exclude and the options for stacks";
        Err(Error::nothing_found("there are no stacks to draw").with_hint(hint).in_file(&self.inputs[0]))
    }

    fn options(&self) -> Result<DrawOptions> {
        let parse = |texts: &[String]| texts.iter().map(|text| MethodPattern::parse(text)).collect::<Result<Vec<_>>>();
        let mut stacks = self.stacks.read_options();
        stacks.memory = self.memory.options()?;
        Ok(DrawOptions {
            stacks,
            selection: self.stacks.selection(),
            include: parse(&self.include)?,
            exclude: parse(&self.exclude)?,
            keep_mangled: self.no_demangle,
            title: self.title.clone(),
        })
    }

    /// Returns the format that the file extension of the output selects, compressed or not; `None` if it selects none.
    pub(crate) fn named_format(&self) -> Option<PictureFormat> {
        match uncompressed_name(&self.output)?.rsplit_once('.')?.1 {
            "html" | "htm" => Some(PictureFormat::Html),
            "svg" => Some(PictureFormat::Svg),
            _ => None,
        }
    }

    /// Returns the direction of the flame graph, and the part that it shows.
    pub(crate) fn view(&self) -> Result<View> {
        let mut view = View::default();
        (view.reversed, view.by_thread) = (self.reverse, self.per_thread);
        view.method = self.merge.as_deref().map(MethodPattern::parse).transpose()?;
        Ok(view)
    }

    /// Returns true if the flame graph is reversed, split by thread or merged at a method.
    pub(crate) fn is_turned(&self) -> bool {
        self.reverse || self.per_thread || self.merge.is_some()
    }

    /// Returns true if --include or --exclude selects stacks.
    fn is_filtered(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty()
    }

    /// Returns the given input files.
    pub(crate) fn inputs(&self) -> &[PathBuf] {
        &self.inputs
    }

    /// Replaces the output, compressed according to its file extension.
    pub(crate) fn write(&self, picture: &str) -> Result<()> {
        refuse_terminal(&self.output, Compression::of_output(&self.output)?.is_none())?;
        output::replace_by_name(&self.output, picture.as_bytes())
    }

    /// Returns the heading of a comparison with a newer build.
    pub(crate) fn title_against(&self, against: &Path) -> String {
        let name = Path::new(against.file_name().unwrap_or(against.as_os_str())).display();
        self.title.clone().unwrap_or_else(|| format!("{} in {name}", self.title()))
    }

    /// Returns the requested heading, or the names of the files without their directories.
    fn title(&self) -> String {
        self.title.clone().unwrap_or_else(|| title_of(&arguments(&self.inputs), &arguments(&self.baseline)))
    }
}

fn arguments(paths: &[PathBuf]) -> Vec<Input> {
    paths.iter().map(Input::argument).collect()
}
