#!/usr/bin/env bash
# Prometheus' own checker reads the metrics. It may complain about names of counters that are
# text-embeddings-inference's, which dashboards know, and about nothing else.
set -euo pipefail
url=$(python3 -c 'import json, os; print(json.load(open(os.environ["HONE_SERVED"]))["url"])')
text=$(curl -sS --max-time 20 "$url/metrics")
said=$("$DEBIAN_PROGRAMS/usr/bin/promtool" check metrics 2>&1 <<< "$text") && code=0 || code=$?
known='^te_[a-z]+_(count|success|failure) (counter metrics should have "_total" suffix|non-histogram and non-summary metrics should not have "_count" suffix)$'
others=$(grep -vE "$known" <<< "$said" | grep . || true)
complains=3  # promtool's exit code where it could read all
if [ -n "$others" ] || { [ "$code" -ne 0 ] && [ "$code" -ne "$complains" ]; }; then
  echo "promtool ended with $code: $others"
  exit 1
fi
echo "promtool check metrics: $(wc -l <<< "$text") lines; names of counters apart, no complaint"
