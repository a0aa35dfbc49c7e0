# CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json) from what packaging/bill.sh has gathered.

# Old packages separate alternative licenses with a slash.
def expression: gsub(" */ *"; " OR ");
def purl: "pkg:cargo/\(.name)@\(.version | @uri)";
# murmur's own crates are in no registry.
def reference: if .source == null and .name != "murmur" then "\(.name)@\(.version)" else purl end;

($linked | split("\n") | map(select(. != "")) | map({key: (sub(" v"; "@")), value: true}) | from_entries) as $is_linked
| ($checksums | split("\n") | map(select(. != "") | split(" ")) | map({key: "\(.[0])@\(.[1])", value: .[2]}) | from_entries)
  as $checksum
| $metadata[0] as $metadata
| ($metadata.packages | map(select($is_linked["\(.name)@\(.version)"]))) as $packages
| ($packages | map({key: .id, value: reference}) | from_entries) as $reference
| ($packages | map(select(.source == null and .name == "murmur")) | first) as $own
| ([
    {
      "bom-ref": "rust-std", type: "library", name: "rust-std", version: $rust,
      licenses: [{expression: "MIT OR Apache-2.0"}],
      externalReferences: [{type: "vcs", url: "https://github.com/rust-lang/rust"}]
    },
    (if $triple | contains("-linux-gnu") then {
      "bom-ref": "glibc", type: "library", name: "glibc", version: $c,
      licenses: [{expression: "LGPL-2.1-or-later"}],
      externalReferences: [{type: "website", url: "https://sourceware.org/glibc/"}]
    }, {
      "bom-ref": "libgcc", type: "library", name: "libgcc", version: $gcc,
      licenses: [{expression: "GPL-3.0-or-later WITH GCC-exception-3.1"}],
      externalReferences: [{type: "website", url: "https://gcc.gnu.org/"}]
    } else empty end),
    # Rust doesn't report the versions of these.
    (if $triple | contains("-linux-musl") then {
      "bom-ref": "musl", type: "library", name: "musl", description: "included in Rust \($rust)",
      licenses: [{expression: "MIT"}],
      externalReferences: [{type: "website", url: "https://musl.libc.org/"}]
    }, {
      "bom-ref": "libunwind", type: "library", name: "libunwind", description: "LLVM's, included in Rust \($rust)",
      licenses: [{expression: "Apache-2.0 WITH LLVM-exception"}],
      externalReferences: [{type: "website", url: "https://llvm.org/"}]
    } else empty end)
  ]) as $runtime
| {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      timestamp: ($epoch | todate),
      component: {
        "bom-ref": ($own | purl), type: "application", name: $own.name, version: $own.version,
        description: $own.description, licenses: [{expression: $own.license}], purl: ($own | purl)
      },
      properties: [{name: "cdx:rustc:sbom:target:triple", value: $triple}]
    },
    components: ([
      $packages | sort_by(.name, .version)[] | select(.source != null)
      | . as $package
      | ($checksum["\(.name)@\(.version)"] // error("Cargo.lock has no checksum of \(.name) \(.version)")) as $sum
      | {
          "bom-ref": purl, type: "library", name, version,
          hashes: [{alg: "SHA-256", content: $sum}],
          licenses: [{expression: (.license // error("\(.name) \(.version) names no license") | expression)}],
          purl: purl
        }
      + (if .repository then {externalReferences: [{type: "vcs", url: .repository}]} else {} end)
    ] + [
      $packages | sort_by(.name)[] | select(.source == null and .name != "murmur")
      | {"bom-ref": reference, type: "library", name, version, description, licenses: [{expression: .license}]}
    ] + $runtime),
    dependencies: [
      $metadata.resolve.nodes[] | select($reference[.id])
      | .id as $id
      | {
          ref: $reference[.id],
          dependsOn: ([.deps[] | select(any(.dep_kinds[]; .kind == null)) | $reference[.pkg] | values]
            + (if $id == $own.id then ($runtime | map(.["bom-ref"])) else [] end) | unique)
        }
    ] | sort_by(.ref)
  }
| if (.components | length) == ($is_linked | length) - 1 + ($runtime | length) then . else error("not every package is known") end
