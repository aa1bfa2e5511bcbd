import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Dialect, Target } from '../dialect.ts';
import { counting } from './count-tokens.ts';
import { GeminiDecoder } from './decode-events.ts';
import { decodeRequest } from './decode-request.ts';
import { GeminiEncoder } from './encode-events.ts';
import { encodeRequest } from './encode-request.ts';
import { endpoints } from './endpoint.ts';
import { fields } from './fields.ts';
import { foldEvents } from './fold-events.ts';
import { errorBody, failChunk, failFrames } from './google-error.ts';
import { modelListing } from './model-listing.ts';
import { resourceOf } from './model-names.ts';
import { observer } from './observe.ts';
import { forwardBody } from './replay-request.ts';

/** The path of a model's method. */
function pathOf(target: Target, stream: boolean): string {
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  return `/${resourceOf(target)}:${method}`;
}

function outputModalities({ generationConfig }: Json): readonly unknown[] {
  return isObject(generationConfig) ? listOf(generationConfig['responseModalities']) : [];
}

/** The format of Google's generateContent, version v1beta. */
export const gemini: Dialect = {
  name: 'gemini',
  label: 'gemini',
  endpoints,
  counting,
  modelListing,
  otherPaths: '(/v1beta|/upload/v1|/upload/v1beta)/files',
  labelsField: 'labels',
  promptField: 'contents',
  settings: fields.settings,
  choosesFunctionsOnly: true,
  abilities: ['json-object'],
  stops: { most: 5 },
  reasoning: { field: null, isUnsigned: true, isShown: false, hasBudget: true },
  keyHeader: 'x-goog-api-key',
  errorBody,
  path: pathOf,
  headers: {},
  decodeRequest,
  outputModalities,
  fields,
  encodeRequest,
  forwardBody,
  ...observer,
  decodeEvents: (context, emit) => new GeminiDecoder(context, emit),
  encodeEvents: (context) => new GeminiEncoder(context),
  foldEvents,
  modelPaths: [['modelVersion']],
  operation: 'generate_content',
  textMembers: ['text'],
  failFrames,
  failChunk,
  // Google's SDKs for Go and, before version 2, for JavaScript fail at comments.
  signOfLife: '\n\n',
  answerKey: 'candidates',
};
