# Functions for the command lines of every document, besides murmur's programs (CONTRIBUTING.md, Documentation).

# fake NAME|- [KEY=VALUE...]: what `claude` plays from now on, a fixture or none, with variables of fake-claude/README.md.
fake() {
  local pair key
  {
    if [[ $1 == - ]]; then
      :
    elif [[ -d $BOOK_FIXTURES/$1 ]]; then
      printf 'export FAKE_CLAUDE_FIXTURE=%q\n' "$BOOK_FIXTURES/$1"
    else
      echo "there is no fixture $1" >&2
      return 1
    fi
    shift
    for pair in "$@"; do
      key=${pair%%=*}
      printf 'export FAKE_CLAUDE_%s=%q\n' "${key^^}" "${pair#*=}"
    done
  } >"$BOOK_PLAYS.new" && mv "$BOOK_PLAYS.new" "$BOOK_PLAYS"
}

# fake_call TOOL INPUT: from now on the model makes this call, and then says HEARTBEAT_OK.
fake_call() {
  printf '[[{"type":"tool_use","id":"toolu_1","name":"%s","input":%s}],[{"type":"text","text":"HEARTBEAT_OK"}]]\n' \
    "$1" "$2" >"$BOOK_PLAYS.script" && fake - script="$BOOK_PLAYS.script"
}

# fake_script: from now on the model plays the script on stdin.
fake_script() {
  cat >"$BOOK_PLAYS.script" && fake - script="$BOOK_PLAYS.script"
}

# until_line PATTERN COMMAND...: runs a command until it prints a line that matches PATTERN, and ends it.
until_line() {
  local pattern=$1 line source pid found=1
  shift
  exec {source}< <(exec "$@" 2>&1)
  pid=$!
  while IFS= read -r line <&"$source"; do
    if [[ $line =~ $pattern ]]; then
      found=0
      break
    fi
  done
  kill "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  exec {source}<&-
  return "$found"
}

# pulse MINUTES AGENT TOOL ACTION TASK BRANCH WORKSPACE STATE: the agent was last heard from so many minutes ago.
pulse() {
  mkdir -p ~/.murmur/heartbeats && chmod 700 ~/.murmur
  printf '{"timestamp":"%s","agent_id":"%s","tool_name":"%s","last_action":"%s","current_task":"%s","git_branch":"%s","workspace":"%s","pid":0,"session_id":"s-%s","state":"%s"}\n' \
    "$(date -u -d "$1 minutes ago" +%FT%T.000Z)" "${@:2:6}" "$2" "$8" >~/.murmur/heartbeats/"$2".json
}
