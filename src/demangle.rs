//! Source names of symbols, which the feature `demangle` compiles in. Without it, every symbol keeps its name.

/// Demangles the symbol of a Rust function, without its hash.
pub(crate) fn rust(symbol: &str) -> Option<String> {
    #[cfg(feature = "demangle")]
    return Some(format!("{:#}", rustc_demangle::try_demangle(symbol).ok()?));
    #[cfg(not(feature = "demangle"))]
    return without(symbol);
}

/// Demangles an Itanium C++ symbol, with the parameters of a function.
pub(crate) fn itanium(symbol: &str) -> Option<String> {
    #[cfg(feature = "demangle")]
    return cpp_demangle::Symbol::new(symbol).ok()?.demangle().ok();
    #[cfg(not(feature = "demangle"))]
    return without(symbol);
}

/// Demangles an Itanium C++ symbol without parameters and return type.
pub(crate) fn itanium_name(symbol: &str) -> Option<String> {
    #[cfg(feature = "demangle")]
    return {
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
        cpp_demangle::Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()
    };
    #[cfg(not(feature = "demangle"))]
    return without(symbol);
}

/// Demangles a Microsoft symbol.
pub(crate) fn microsoft(symbol: &str, form: Microsoft) -> Option<String> {
    #[cfg(feature = "demangle")]
    return {
        use msvc_demangler::DemangleFlags;
        let short = DemangleFlags::NO_ACCESS_SPECIFIERS
            | DemangleFlags::NO_MS_KEYWORDS
            | DemangleFlags::NO_MEMBER_TYPE
            | DemangleFlags::NO_THISTYPE
            | DemangleFlags::NO_CLASS_TYPE;
        let flags = match form {
            Microsoft::Name => DemangleFlags::NAME_ONLY,
            Microsoft::Signature => short,
            Microsoft::ShortName => short | DemangleFlags::NAME_ONLY,
        };
        msvc_demangler::demangle(symbol, flags).ok()
    };
    #[cfg(not(feature = "demangle"))]
    return {
        let _ = form;
        without(symbol)
    };
}

/// The parts of a demangled Microsoft symbol.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "bridge"), allow(dead_code, reason = "only the bridge demangles these symbols"))]
pub(crate) enum Microsoft {
    /// The name with the words `class` and `const`.
    Name,
    /// Parameters and return type, without access and storage.
    Signature,
    /// The name alone.
    ShortName,
}

#[cfg(not(feature = "demangle"))]
fn without(_symbol: &str) -> Option<String> {
    None
}
