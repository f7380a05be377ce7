//! Names of generated functions and types.

use super::random::Random;

/// The mangled C++ name `module_M::item_N()`, a C name, a local function of a file, or a mangled Rust name.
///
/// `local` separates the file of a local function from its name; without it there are no local functions.
pub(super) fn function(index: u32, local: Option<char>) -> String {
    match index % 5 {
        _ if index == 0 => "main".to_string(),
        1 => {
            let (module, item) = (format!("module_{}", index / 40), format!("item_{index}"));
            format!("_ZN{}{module}{}{item}Ev", module.len(), item.len())
        }
        2 => match local {
            Some(separator) => format!("file_{}.c{separator}local_{index}", index / 60),
            None => format!("local_{index}"),
        },
        3 => {
            let (module, item) = (format!("crate_{}", index / 80), format!("call_{index}"));
            format!(
                "_ZN{}{module}{}{item}17h{:016x}E",
                module.len(),
                item.len(),
                Random::of(&[index.into()]).next_number()
            )
        }
        _ => format!("function_{index}"),
    }
}

/// The mangled name of a C++ vtable.
pub(super) fn vtable(index: u64) -> String {
    let class = format!("Class{index}");
    format!("_ZTV{}{class}", class.len())
}

/// The binary name of a Java class.
pub(super) fn class(index: u32) -> String {
    format!("com.example.part{}.Class{index}", index / 16)
}

/// The name of a Java method.
pub(super) fn method(index: u32) -> String {
    if index == 0 { "main".to_string() } else { format!("method{index}") }
}
