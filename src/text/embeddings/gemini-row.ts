import * as v from 'valibot';
import { checkedBody } from '../../schema/body.ts';
import { openObject } from '../../schema/choice.ts';
import { field, integer, nullish } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import { pathsOf } from '../dialects/gemini/endpoint.ts';
import type { Row } from '../rows/row.ts';
import type { Embeddings } from './answer.ts';
import { embeddingRow } from './embedding-row.ts';
import { checkedText, type EmbeddingsRequest } from './request.ts';

/** Contents of one request, as at Google. */
const MAX_CONTENTS = 100;

const content = v.looseObject({
  parts: field(v.array(v.looseObject({ text: v.string() })), 'Texts, which are read as one.', {
    expects: 'a list of parts with a text',
  }),
});

const settings = {
  taskType: nullish(v.string(), 'What the vectors are for; sent to Google alone.'),
  outputDimensionality: nullish(integer(1, 65_536), 'Numbers of each vector.'),
};

const one = openObject({ content: field(content, 'What to embed.'), ...settings });

const batch = openObject({
  requests: field(
    v.array(v.looseObject({ content, ...settings })),
    'Contents, whose other fields are the same.',
    { expects: 'a list of requests' },
  ),
});

type One = v.InferOutput<typeof one>;
type GeminiRow = Row<EmbeddingsRequest, Embeddings>;

/** @throws Failure invalid_request */
function requestOf(body: unknown, requests: readonly One[], path: string): EmbeddingsRequest {
  const { model } = body as { readonly model: string };
  const [first] = requests;
  if (first === undefined || requests.length > MAX_CONTENTS) {
    throw invalid('requests', `expected 1 to ${MAX_CONTENTS}, received ${requests.length}`);
  }
  const items = requests.map((request, index) => {
    const at = path && `${path}[${index}].`;
    const { model: named = model } = request as { readonly model?: unknown };
    if (path && named !== `models/${model}` && named !== model) {
      throw invalid(`${at}model`, `expected the model of the path, models/${model}`);
    }
    for (const name of Object.keys(settings) as (keyof typeof settings)[]) {
      if ((request[name] ?? null) === (first[name] ?? null)) continue;
      throw invalid(`${at}${name}`, 'expected the same in all requests');
    }
    const texts = request.content.parts.map(({ text }) => text);
    return checkedText(texts.join('\n'), `${at}content.parts`);
  });
  return {
    ...{ model, items, input: items, encoding: 'float', user: null },
    dimensions: first.outputDimensionality ?? null,
    taskType: first.taskType ?? null,
  };
}

/** Google's embedContent. */
const single: GeminiRow = {
  ...embeddingRow,
  decode: (body) => requestOf(body, [checkedBody(one, body)], ''),
  write: ({ vectors: [values] }, _, __, { tokens }) =>
    JSON.stringify({ embedding: { values }, usageMetadata: { promptTokenCount: tokens } }),
};

/** Google's batchEmbedContents, which its SDKs also send for one content. */
const several: GeminiRow = {
  ...embeddingRow,
  decode: (body) => requestOf(body, checkedBody(batch, body).requests, 'requests'),
  write: ({ vectors }, _, __, { tokens }) =>
    JSON.stringify({
      embeddings: vectors.map((values) => ({ values })),
      usageMetadata: { promptTokenCount: tokens },
    }),
};

const vector = v.object({ values: v.array(v.number()) });
const usageMetadata = v.object({ promptTokenCount: v.number() });
const EXAMPLE = { content: { parts: [{ text: 'Hello' }] }, outputDimensionality: 8 };

/** Google's endpoints of embeddings. */
export const GEMINI_ROWS = [
  {
    ...pathsOf('embedContent'),
    row: single,
    summary: 'Create an embedding in the format of gemini',
    body: v.pipe(one, v.examples([EXAMPLE])),
    answer: v.object({ embedding: vector, usageMetadata }),
  },
  {
    ...pathsOf('batchEmbedContents'),
    row: several,
    summary: 'Create embeddings in the format of gemini',
    body: v.pipe(batch, v.examples([{ requests: [EXAMPLE] }])),
    answer: v.object({ embeddings: v.array(vector), usageMetadata }),
  },
] as const;
