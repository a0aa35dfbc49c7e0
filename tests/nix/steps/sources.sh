# Editing a file that no build reads changes no derivation, and editing any other changes those that read it.
# shellcheck shell=bash disable=SC2154
copy=$scratch/copy
mkdir "$copy"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents --target-directory "$copy"

# Every derivation of the flake, one per line.
derivations() {
  local output
  for output in packages checks devShells; do
    on_flake eval --json "path:$copy#$output.x86_64-linux" --apply 'builtins.mapAttrs (_: made: made.drvPath)' |
      jq --raw-output --arg output "$output" 'to_entries[] | "\($output).\(.key) \(.value)"'
  done
}
derivations >"$scratch/before"

# Exactly the derivations in $1 changed.
are_others() {
  local others
  derivations >"$scratch/after"
  others=$(comm -13 <(sort "$scratch/before") <(sort "$scratch/after") | cut -d ' ' -f 1 | tr '\n' ' ')
  [[ $others == "$1" ]] || fail "rebuilt: $others
and should be: $1"
}

for unread in README.md fake-claude/README.md fake-claude/testing.md CHANGELOG.md CONTRIBUTING.md LICENSE-MIT justfile tests/nix/run; do
  echo "an edit" >>"$copy/$unread"
done
are_others ""

echo "an edit" >>"$copy/docs/reference/config.md"
echo "// an edit" >>"$copy/tests/it/main.rs"
are_others "checks.clippy checks.docs checks.fmt checks.tests "

echo "# an edit" >>"$copy/packaging/layout.sh"
are_others "checks.clippy checks.config-json checks.docs checks.fmt checks.tests checks.unit packages.default packages.image packages.murmur "

echo "// an edit" >>"$copy/src/main.rs"
are_others "checks.clippy checks.config-json checks.docs checks.fmt checks.tests checks.unit packages.default packages.fake-claude packages.image packages.murmur "
