//! Parsing the version output of tools, with their LLVM version.

use serde::Serialize;

/// The tools that produce or use profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Clang,
    Rustc,
    LlvmProfdata,
    LlvmCov,
    Java,
    NativeImage,
    Go,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] =
        [Self::Clang, Self::Rustc, Self::LlvmProfdata, Self::LlvmCov, Self::Java, Self::NativeImage, Self::Go];

    /// Returns the name of the program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clang => "clang",
            Self::Rustc => "rustc",
            Self::LlvmProfdata => "llvm-profdata",
            Self::LlvmCov => "llvm-cov",
            Self::Java => "java",
            Self::NativeImage => "native-image",
            Self::Go => "go",
        }
    }

    /// Returns true if packages add LLVM's version number to the name.
    pub(crate) fn is_of_llvm(self) -> bool {
        matches!(self, Self::Clang | Self::LlvmProfdata | Self::LlvmCov)
    }

    /// Returns true if programs built by it write LLVM profiles.
    pub(crate) fn is_compiler_of_llvm(self) -> bool {
        matches!(self, Self::Clang | Self::Rustc)
    }

    /// Returns the command lines that print the version; the first that succeeds counts. Old releases of llvm-profdata
    /// accept `--version` only after a command.
    pub(crate) fn questions(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Rustc => &[&["-vV"]],
            Self::LlvmProfdata => &[&["--version"], &["merge", "--version"]],
            Self::Java => &[&["-version"]],
            Self::Go => &[&["version"]],
            Self::Clang | Self::LlvmCov | Self::NativeImage => &[&["--version"]],
        }
    }
}

/// A version, and the LLVM version in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// The version as the tool prints it, `22.1.8`.
    pub(crate) version: String,
    /// The major version of LLVM, if the output contains it. Apple's clang has version numbers of its own.
    pub(crate) llvm: Option<u32>,
    /// Whether the version number is Apple's.
    pub(crate) is_of_apple: bool,
}

/// Finds the version in the output of a tool.
pub(super) fn parse(kind: Kind, text: &str) -> Option<Version> {
    let is_of_apple = kind.is_of_llvm() && text.contains("Apple");
    let version = match kind {
        Kind::Clang => without_package(number_after(text, "clang version ")?),
        Kind::LlvmProfdata | Kind::LlvmCov => without_package(number_after(text, "LLVM version ")?),
        Kind::Rustc => number_after(text, "release: ")?,
        Kind::Java => text.split('"').nth(1)?.to_string(),
        Kind::NativeImage => number_after(text, "native-image ").or_else(|| number_after(text, "GraalVM "))?,
        Kind::Go => number_after(text, "go version go")?,
    };
    let llvm = match kind {
        Kind::Clang | Kind::LlvmProfdata | Kind::LlvmCov => Some(version.clone()),
        Kind::Rustc => number_after(text, "LLVM version: "),
        Kind::Java | Kind::NativeImage | Kind::Go => None,
    };
    let llvm = llvm.filter(|_| !is_of_apple).and_then(|version| version.split('.').next()?.parse().ok());
    Some(Version { version, llvm, is_of_apple })
}

/// Removes a distribution's suffix from an LLVM version: `13.0.1-11+b2`.
fn without_package(version: String) -> String {
    version.split(['-', '+']).next().unwrap_or_default().to_string()
}

/// Returns the word after another text.
fn number_after(text: &str, before: &str) -> Option<String> {
    let rest = &text[text.find(before)? + before.len()..];
    let word = rest.split(|c: char| c.is_whitespace() || c == ',').next()?;
    Some(word.to_string()).filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_tool_output() {
        let rustc = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\nrelease: 1.95.0\nLLVM version: 22.1.2\n";
        let java = "openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment\n";
        let image = "native-image 21.0.2 2024-01-16\nGraalVM Runtime Environment\n";
        let cases = [
            (Kind::Clang, "Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n", "14.0.6", Some(14)),
            (Kind::Clang, "Debian clang version 13.0.1-11+b2\n", "13.0.1", Some(13)),
            (Kind::Clang, "Apple clang version 15.0.0 (clang-1500.3.9.4)\n", "15.0.0", None),
            (Kind::LlvmProfdata, "Debian LLVM version 22.1.8\n  Optimized build.\n", "22.1.8", Some(22)),
            (Kind::LlvmCov, "LLVM (http://llvm.org/):\n  LLVM version 13.0.1\n", "13.0.1", Some(13)),
            (Kind::Rustc, rustc, "1.95.0", Some(22)),
            (Kind::Java, java, "17.0.15", None),
            (Kind::NativeImage, image, "21.0.2", None),
            (Kind::Go, "go version go1.27.3 linux/amd64\n", "1.27.3", None),
        ];
        for (kind, text, version, llvm) in cases {
            let found = parse(kind, text).unwrap();
            assert_eq!((found.version.as_str(), found.llvm), (version, llvm), "{text}");
            assert_eq!(found.is_of_apple, text.contains("Apple"));
        }
        for kind in Kind::ALL {
            assert_eq!(parse(kind, "something else"), None);
            assert_eq!(parse(kind, ""), None);
        }
    }
}
