// @huggingface/inference, as it is documented: the address is the endpoint.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The package lies in the folder that NODE_PACKAGES names, not beside this file.
const resolved = createRequire(process.env.NODE_PACKAGES + "/").resolve("@huggingface/inference");
const { InferenceClient } = await import(pathToFileURL(resolved));
const served = JSON.parse(readFileSync(process.env.HONE_SERVED, "utf8"));

function fail(message) {
  console.error(message);
  process.exit(1);
}

function same(got, expected, what) {
  if (got.length !== expected.length) fail(`${what}: ${got.length} values, not ${expected.length}`);
  got.forEach((value, i) => {
    if (!Object.is(Math.fround(value), Math.fround(expected[i]))) {
      fail(`${what}[${i}]: ${value}, expected ${expected[i]}`);
    }
  });
}

const classifier = new InferenceClient().endpoint(served.url);
const vectors = served.scaled[served.embedders[0]];
const embedder = new InferenceClient().endpoint(served.embed_url);
for (const [i, inputs] of served.texts.entries()) {
  for (const options of [{}, { parameters: { top_k: served.labels.length } }]) {
    const answer = await classifier.textClassification({ inputs, ...options });
    const byLabel = Object.fromEntries(answer.map(({ label, score }) => [label, score]));
    same(served.labels.map((label) => byLabel[label]), served.scores[i], inputs);
  }
  const vector = await embedder.featureExtraction({ inputs });
  same(vector.flat(), vectors[i], inputs);
}
const all = await embedder.featureExtraction({ inputs: served.texts });
all.forEach((vector, i) => same(vector, vectors[i], served.texts[i]));
console.log(`textClassification and featureExtraction of ${served.texts.length} texts`);
