//! iprof files against classes or another iprof.

use crate::error::{Error, ErrorKind, Result, Warning};
use crate::families::fit::options::FitOptions;
use crate::families::stack_files::read_iprof;
use crate::fit::{JavaProgram, MethodsFit, compare_methods};
use crate::input::{Access, Format, Input, detect, output};
use crate::iprof;
use crate::stacks::classes::Reference;
use std::path::Path;

/// Folders inside folders that are searched for classes.
const MAX_FOLDERS: usize = 64;

/// Reads both and compares them.
pub(super) fn fit(
    path: &Path,
    bytes: &[u8],
    against: &Input,
    options: &FitOptions,
) -> Result<(MethodsFit, Vec<Warning>)> {
    let (document, warnings) = read_iprof(bytes, &options.limits).map_err(|error| error.in_file(path))?;
    let program = read_against(against, options)?;
    let fit = compare_methods(document, program).map_err(|error| error.in_file(path))?;
    Ok((fit, warnings.into_iter().map(|warning| warning.in_file(path)).collect()))
}

fn read_against(input: &Input, options: &FitOptions) -> Result<JavaProgram> {
    let path = &input.path;
    let mut program = JavaProgram::of_classes();
    if path.is_dir() {
        add_folder(path, options, &mut program, MAX_FOLDERS)?;
        if program.methods.is_empty() {
            let detail = "the directory has no class files or jars".to_string();
            return Err(Error::new(ErrorKind::UnableToCompare { detail }).in_file(path));
        }
        return Ok(program);
    }
    let bytes = input.bytes(Access::Read, &options.limits)?;
    if Reference::takes(&bytes) {
        program.add_classes(&bytes, &options.limits).map_err(|error| error.in_file(path))?;
        return Ok(program);
    }
    match detect(&bytes) {
        Format::Iprof => {
            let (document, _) = read_iprof(&*bytes, &options.limits).map_err(|error| error.in_file(path))?;
            Ok(JavaProgram::of_iprof(&document))
        }
        Format::Empty => Err(Error::new(ErrorKind::EmptyProfile).in_file(path)),
        other => {
            let detail = format!("the new build ({other}) and the profile (iprof) have different formats");
            let error = Error::new(ErrorKind::UnableToCompare { detail }).in_file(path);
            Err(error.with_hint("pass a jar, a class file, a directory of them, or a newer iprof"))
        }
    }
}

/// Class files and jars below a folder, in order of name.
fn add_folder(folder: &Path, options: &FitOptions, program: &mut JavaProgram, depth: usize) -> Result<()> {
    if depth == 0 {
        return Err(Error::usage(format!("directories are nested more than {MAX_FOLDERS} levels deep")).in_file(folder));
    }
    let unreadable = |source| Error::io("cannot read", source).in_file(folder);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.sort();
    for path in paths {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            add_folder(&path, options, program, depth - 1)?;
        } else if matches!(extension, Some("class" | "jar" | "jmod")) {
            let bytes = Input::new(&path).bytes(Access::Read, &options.limits)?;
            program.add_classes(&bytes, &options.limits).map_err(|error| error.in_file(&path))?;
        }
    }
    Ok(())
}

/// Writes an iprof.
pub(super) fn write(document: &iprof::Document, path: &Path) -> Result<()> {
    let bytes = iprof::Writer::new(&iprof::WriteOptions::default()).to_bytes(document);
    output::replace_by_name(path, &bytes)
}
