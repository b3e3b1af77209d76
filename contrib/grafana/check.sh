#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh [DASHBOARD]: is it a value of the types that Grafana publishes for dashboards? It takes npm and its
# registry. Its compiler names the line where it is not.

set -euo pipefail
dashboard=$(realpath "${1:-$(dirname "${BASH_SOURCE[0]}")/mptcp-sched.json}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts @grafana/schema@13.2.3 typescript@5 >&2
{
	echo "import type { Dashboard, Panel } from '@grafana/schema';"
	printf 'export const dashboard: Partial<Dashboard> & { panels: Panel[] } = '
	cat "$dashboard"
	echo ';'
} >dashboard.ts
npx tsc --noEmit --strict --skipLibCheck --moduleResolution node --target es2020 dashboard.ts
echo "$(basename "$dashboard"): as @grafana/schema 13.2.3 has dashboards"
