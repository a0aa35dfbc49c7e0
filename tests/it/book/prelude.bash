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

# two_agents: a stuck one and an idle one.
two_agents() {
  pulse 41 site-1 Bash 'cargo test --workspace' 'Fix the build' main /srv/site running
  pulse 2 claude-8d3f Edit src/lib.rs 'Write the docs' docs /srv/app idle
}

# site TEXT: ~/site has this HEARTBEAT.md (with \n for newlines) and runs daily.
site() {
  mkdir -p ~/site && printf %b\\n "$1" >~/site/HEARTBEAT.md && murmur add ~/site --interval 1d
}

# request COMMAND: a beat of ~/site, in the background, waits for approval of the command.
request() {
  fake_call Bash "{\"command\":\"$1\"}"
  murmur beat ~/site >/dev/null &
  until_line "$1" murmur inbox --watch
}

# notified: a notification about a beat of ~/site was sent.
notified() {
  mkdir -p ~/.config/murmur
  printf '[notify.channels.phone]\ntype = "command"\ncommand = ["true"]\n' >~/.config/murmur/config.toml
  site Look. && fake attention && murmur start
  until_line delivered tail -n +1 --retry --follow=name ~/.murmur/notifications.jsonl
}

# tests_pass, test_fails: what the agent does from now on.
tests_pass() {
  echo '{"costUsd":0.0102}' >.fake-claude.json
  fake_script <<'EOF'
[[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make test"},"result":"12 tests passed"}],
 [{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"git status --short"},"result":""}],
 [{"type":"text","text":"HEARTBEAT_OK"}]]
EOF
}
test_fails() {
  fake_script <<'EOF'
[[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make test"},"result":"1 of 12 tests failed"}],
 [{"type":"text","text":"ATTENTION: test_login fails."}]]
EOF
}

# question: a beat of ~/site, in the background, asks which database to use; its output is in ~/beat.
question() {
  fake_call AskUserQuestion '{"questions":[{"question":"Which database do the tests use?","header":"Database","multiSelect":false,"options":[{"label":"Postgres","description":"as in production"},{"label":"SQLite","description":"faster"}]}]}'
  murmur beat ~/site >~/beat 2>&1 &
  until_line Postgres murmur question list --watch
}

# failing_build: a build.sh that exits with 3.
failing_build() {
  printf '#!/bin/sh\necho compiling; echo 2 warnings >&2; exit 3\n' >build.sh && chmod +x build.sh
}
