# The package: every link, and for every command a manual page and completions in each shell.
# shellcheck shell=bash disable=SC2154
on_flake build .#murmur --out-link "$scratch/murmur"
package=$scratch/murmur
for name in mm derun murmur-host murmur-hook; do
  [[ -x $package/bin/$name ]] || fail "the package has no $name"
done
has "$("$package/bin/mm" --version)" "murmur "
has "$("$package/bin/derun" --help)" "Usage: derun"
has "$(ldd "$(readlink -f "$package/bin/murmur-hook")" 2>&1 || true)" "not a dynamic executable"

man=$package/share/man/man1
# roff needs \- for a literal hyphen.
has "$(cat "$man/murmur.1")" 'murmur \- Run Claude Code on a schedule, unattended'
has "$(cat "$man/derun.1")" 'derun \- '
mapfile -t commands < <("$package/bin/murmur" --help |
  sed -n '/^Heartbeats:$/,/^Options:$/{ s/^  \([a-z]\+\) .*/\1/p }' | grep -vx help)
[[ ${#commands[@]} -gt 20 ]] || fail "murmur has the commands ${commands[*]}"
for command in "${commands[@]}"; do
  has "$(cat "$man/murmur.1")" "murmur\\-$command(1)"
  has "$(cat "$man/murmur-$command.1")" "murmur\\-$command \\- "
  for name in murmur mm; do
    has "$(cat "$package/share/bash-completion/completions/$name")" "$name,$command)"
    has "$(cat "$package/share/zsh/site-functions/_$name")" "($command)"
    has "$(cat "$package/share/fish/vendor_completions.d/$name.fish")" "-a \"$command\""
  done
done
has "$(cat "$package/share/zsh/site-functions/_derun")" "#compdef derun"
has "$(cat "$package/share/fish/vendor_completions.d/derun.fish")" "complete -c derun"

# As bash requests them.
# shellcheck source=/dev/null
completed=$(
  . "$package/share/bash-completion/completions/mm"
  # shellcheck disable=SC2034
  COMP_WORDS=(mm rest) COMP_CWORD=1
  "$(complete -p mm | sed 's/.*-F \([^ ]*\).*/\1/')" mm rest mm
  echo "${COMPREPLY[*]}"
)
[[ $completed == restart ]] || fail "mm rest completes to $completed"
