# For a tap. The release script fills in what stands between @ signs: where the
# project is, the version, and the checksum of the crate of that version.
class Profbridge < Formula
  desc "Reads, merges, shows, converts and checks the profiles of optimizing compilers"
  homepage "@ADDRESS@"
  url "@ADDRESS@/releases/download/v@VERSION@/profbridge-@VERSION@.crate"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args
    generate_completions_from_executable(bin/"profbridge", "completions")
    man1.mkpath
    system bin/"profbridge", "man", man1
  end

  test do
    (testpath/"a.proftext").write ":ir\nmain\n1\n1\n5\n"
    system bin/"profbridge", "merge", "a.proftext", "a.proftext", "-o", "a.profdata"
    assert_match "Maximum function count: 10", shell_output("#{bin}/profbridge show a.profdata")
  end
end
