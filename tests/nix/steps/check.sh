# shellcheck shell=bash
on_flake flake check --print-build-logs
