# A container image: murmur's daemon, as a non-root user, with all its data in one volume.
#
# murmur is process 1. It reaps what agents leave behind, and ends in time when told to.
{
  dockerTools,
  writeTextDir,
  bash,
  coreutils,
  cacert,
  murmur,
  # The agent and whatever else agents need.
  extraContents ? [ ],
}:
let
  user = "1000:1000";
  # The data folder is also the home: nothing else is writable.
  data = "/data";
  seconds = count: count * 1000000000;
in
dockerTools.buildLayeredImage {
  name = "murmur";
  tag = murmur.version;
  contents = [
    murmur
    # Claude Code runs hooks with `sh`.
    bash
    coreutils
    cacert
    (writeTextDir "etc/passwd" ''
      root:x:0:0:root:/:/bin/sh
      murmur:x:1000:1000:murmur:${data}:/bin/sh
    '')
    (writeTextDir "etc/group" ''
      root:x:0:
      murmur:x:1000:
    '')
  ]
  ++ extraContents;
  fakeRootCommands = ''
    mkdir -p .${data} ./tmp
    chown ${user} .${data}
    chmod 0700 .${data}
    chmod 1777 ./tmp
  '';
  config = {
    Entrypoint = [ "/bin/murmur" ];
    Cmd = [
      "start"
      "--foreground"
    ];
    User = user;
    WorkingDir = data;
    Volumes.${data} = { };
    Env = [
      "HOME=${data}"
      "PATH=/bin"
      "SHELL=/bin/sh"
      "SSL_CERT_FILE=/etc/ssl/certs/ca-bundle.crt"
    ];
    Healthcheck = {
      Test = [
        "CMD"
        "/bin/murmur"
        "status"
        "--check"
      ];
      Interval = seconds 30;
      Timeout = seconds 10;
      StartPeriod = seconds 5;
      Retries = 3;
    };
    StopSignal = "SIGTERM";
    Labels = {
      "org.opencontainers.image.title" = "murmur";
      "org.opencontainers.image.version" = murmur.version;
      "org.opencontainers.image.licenses" = "MIT OR Apache-2.0";
    };
  };
}
