{
  description = "Reads, merges, shows, converts and checks the profiles of optimizing compilers";

  inputs.nixpkgs.url = "nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      manifest = (builtins.fromTOML (builtins.readFile ../../Cargo.toml)).package;
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = manifest.name;
          version = manifest.version;
          src = ../..;
          cargoLock.lockFile = ../../Cargo.lock;
          # The tests compare with compilers of ten releases; ./test.sh runs them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            mkdir man
            $out/bin/profbridge man man
            installManPage man/*.1
            installShellCompletion --cmd profbridge \
              --bash <($out/bin/profbridge completions bash) \
              --zsh <($out/bin/profbridge completions zsh) \
              --fish <($out/bin/profbridge completions fish)
          '';
          meta = {
            description = manifest.description;
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "profbridge";
          };
        };
      });
    };
}
