//! Units of debug info: their compiler, and data that they lack.

use super::debug_info::{Slice, StringSection, root_of, string};
use crate::error::Result;
use gimli::{AttributeValue, Dwarf, Unit, constants};

/// Returns true for units with functions. Those of clang's `-g1` have only functions with inlined callees.
pub(super) fn has_functions(unit: &Unit<Slice<'_>>) -> bool {
    (1..).map_while(|code| unit.abbreviations.get(code)).any(|entry| entry.tag() == constants::DW_TAG_subprogram)
}

/// Returns true for units with functions of which none has the line of its declaration: those of clang's `-g1`.
pub(crate) fn lacks_first_lines(unit: &Unit<Slice<'_>>) -> Result<bool> {
    let mut has_named = false;
    for entry in (1..).map_while(|code| unit.abbreviations.get(code)) {
        let has = |name| entry.attributes().iter().any(|attribute| attribute.name() == name);
        // Declarations of other functions always have it, and functions that compilers make never.
        let is_other = || has(constants::DW_AT_declaration) || has(constants::DW_AT_artificial);
        if entry.tag() == constants::DW_TAG_subprogram && !is_other() {
            if has(constants::DW_AT_decl_line) {
                return Ok(false);
            }
            has_named |= has(constants::DW_AT_name);
        }
    }
    // Assemblers and Go's compiler do not read sample profiles.
    let others = [constants::DW_LANG_Mips_Assembler, constants::DW_LANG_Go];
    Ok(has_named && !is_of_language(unit, &others)?)
}

/// Returns true for units of C++ and Rust that have functions, but neither mangled names nor first lines, or types and
/// parameters: those of `-g1`.
pub(crate) fn lacks_mangled_names(unit: &Unit<Slice<'_>>) -> Result<bool> {
    let abbreviations = || (1..).map_while(|code| unit.abbreviations.get(code));
    let has = |tag| abbreviations().any(|entry| entry.tag() == tag);
    let names = [constants::DW_AT_linkage_name, constants::DW_AT_MIPS_linkage_name];
    let is_named = || abbreviations().any(|entry| entry.attributes().iter().any(|of| names.contains(&of.name())));
    let is_more = || has(constants::DW_TAG_base_type) || has(constants::DW_TAG_formal_parameter);
    Ok(mangles_names(unit)? && has_functions(unit) && !is_named() && (lacks_first_lines(unit)? || !is_more()))
}

/// Returns true if GCC compiled the unit from C++.
pub(crate) fn is_of_gcc(dwarf: &Dwarf<Slice<'_>>, unit: &Unit<Slice<'_>>, strings: Option<&StringSection>) -> bool {
    let producer = root_of(unit).ok().and_then(|root| root.attr_value(constants::DW_AT_producer));
    let producer = producer.and_then(|value| string(dwarf, unit, value, strings).ok());
    producer.is_some_and(|producer| producer.starts_with(b"GNU C++"))
}

fn mangles_names(unit: &Unit<Slice<'_>>) -> Result<bool> {
    use constants::{DW_LANG_C_plus_plus, DW_LANG_C_plus_plus_03, DW_LANG_C_plus_plus_11, DW_LANG_C_plus_plus_14};
    use constants::{DW_LANG_C_plus_plus_17, DW_LANG_C_plus_plus_20, DW_LANG_Rust};
    let all = [
        DW_LANG_C_plus_plus,
        DW_LANG_C_plus_plus_03,
        DW_LANG_C_plus_plus_11,
        DW_LANG_C_plus_plus_14,
        DW_LANG_C_plus_plus_17,
        DW_LANG_C_plus_plus_20,
        DW_LANG_Rust,
    ];
    is_of_language(unit, &all)
}

fn is_of_language(unit: &Unit<Slice<'_>>, all: &[constants::DwLang]) -> Result<bool> {
    let language = root_of(unit)?.attr_value(constants::DW_AT_language);
    Ok(matches!(language, Some(AttributeValue::Language(language)) if all.contains(&language)))
}
