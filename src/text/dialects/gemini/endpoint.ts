import * as v from 'valibot';
import type { Endpoint } from '../endpoint.ts';
import { fields } from './fields.ts';

/** The path of a method, and that of the version v1, which Google's SDK uses from its version 3 on. */
export function pathsOf(method: string): Pick<Endpoint, 'path' | 'aliases'> {
  const path = `/models/:model(^[^/]+)::${method}`;
  return { path: `/v1beta${path}`, aliases: [`/v1${path}`] };
}

const shared = {
  request: fields.schema,
  example: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  response: v.looseObject({
    candidates: v.array(
      v.looseObject({
        content: v.optional(v.looseObject({ role: v.string(), parts: v.array(v.looseObject({})) })),
        finishReason: v.string(),
        index: v.number(),
      }),
    ),
    usageMetadata: v.looseObject({
      promptTokenCount: v.number(),
      candidatesTokenCount: v.number(),
      totalTokenCount: v.number(),
    }),
    modelVersion: v.string(),
    responseId: v.string(),
  }),
} as const;

/** The endpoints of Google's generateContent; the method after the colon chooses whether to stream. */
export const endpoints: readonly Endpoint[] = [
  {
    ...shared,
    ...pathsOf('generateContent'),
    stream: false,
    summary: 'Answer in the format of gemini',
  },
  {
    ...shared,
    ...pathsOf('streamGenerateContent'),
    stream: true,
    summary: 'Answer in the format of gemini, as server-sent events',
  },
];
