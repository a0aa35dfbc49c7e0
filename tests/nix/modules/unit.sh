# Compares the modules' units with the one that murmur itself writes: both contain each of its lines, and their
# additional lines are listed here.
# shellcheck shell=bash disable=SC2154
export HOME=$PWD MURMUR_DIR=$PWD/data
# If set, these variables are in the printed unit.
unset XDG_CONFIG_HOME XDG_STATE_HOME CLAUDE_CONFIG_DIR DERUN_STATE_ROOT
murmur service install --print >printed

# The keys and values of one section of the printed unit. The modules set program and folder by other means.
section() {
  sed -n "/^\[$1]\$/,/^\[/{ /^[A-Z]/p }" printed | sed 's|^\(Exec[A-Za-z]*=\)"[^"]*" --data-dir "[^"]*" |\1murmur |'
}
failed=
for unit in ofMachine ofUser; do
  file=${unit}Path
  for part in Unit Service; do
    while IFS='=' read -r key value; do
      is=$(jq --raw-output --arg part "$part" --arg key "$key" \
        '.[$part][$key] | if type == "array" then join(" ") else tostring end' "${!file}" | sed 's|^[^ ]*/bin/murmur |murmur |')
      if [[ $is != "$value" ]]; then
        failed+="$unit: $key is $is, expected $value"$'\n'
      fi
      echo "$key" >>"known-$unit"
    done < <(section "$part")
  done
  jq --raw-output '.Unit, .Service | keys[]' "${!file}" | sort >"has-$unit"
done
[[ $(wc -l <known-ofUser) -gt 10 ]] || failed+="printed is $(cat printed)"$'\n'

# The folder and the PATH are variables, and config.json is installed first. For the system service, systemd creates the
# folder and knows the user.
declare -A more=(
  [ofUser]='Environment ExecStartPre NoNewPrivileges RestrictRealtime RestrictSUIDSGID'
  [ofMachine]='CapabilityBoundingSet ExecStartPre NoNewPrivileges ProtectControlGroups ProtectHome ProtectKernelModules ProtectSystem ReadWritePaths RestrictRealtime RestrictSUIDSGID StateDirectory StateDirectoryMode User'
)
for unit in "${!more[@]}"; do
  is=$(comm -13 <(sort --unique "known-$unit") "has-$unit" | tr '\n' ' ')
  if [[ $is != "${more[$unit]} " ]]; then
    failed+="$unit: unexpected $is"$'\n'
  fi
done

if [[ -n $failed ]]; then
  printf '%s' "$failed" >&2
  exit 1
fi
touch "$out"
