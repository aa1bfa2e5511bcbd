import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical.ts';
import type { Dialect, Target } from '../dialect.ts';
import { GeminiDecoder } from './decode-events.ts';
import { decodeRequest } from './decode-request.ts';
import { GeminiEncoder } from './encode-events.ts';
import { encodeRequest } from './encode-request.ts';
import { endpoints } from './endpoint.ts';
import { fields } from './fields.ts';
import { foldEvents } from './fold-events.ts';
import { errorBody, failFrames } from './google-error.ts';
import { countOutput, markers, observe, observeAnswer } from './observe.ts';
import { forwardBody } from './replay-request.ts';
import { settings } from './settings.ts';

/** The path of a model's method. A tuned model is named with its collection: `tunedModels/one`. */
function pathOf({ model }: Target, stream: boolean): string {
  const name = model.includes('/') ? model : `models/${model}`;
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  return `/${name.split('/').map(encodeURIComponent).join('/')}:${method}`;
}

function outputModalities({ generationConfig }: Json): readonly unknown[] {
  return isObject(generationConfig) ? listOf(generationConfig['responseModalities']) : [];
}

/** The format of Google's generateContent, version v1beta. */
export const gemini: Dialect = {
  name: 'gemini',
  label: 'gemini',
  endpoints,
  promptField: 'contents',
  settings,
  choosesFunctionsOnly: true,
  abilities: ['json-object'],
  stops: { most: 5 },
  prefillsAnswer: false,
  usesOpenaiFields: false,
  reasoning: { field: null, isUnsigned: true, isShown: false, hasBudget: true },
  keyHeader: 'x-goog-api-key',
  errorBody,
  path: pathOf,
  headers: {},
  takesImageDetail: false,
  decodeRequest,
  outputModalities,
  fields,
  encodeRequest,
  forwardBody,
  decodeEvents: (context, emit) => new GeminiDecoder(context, emit),
  encodeEvents: (context) => new GeminiEncoder(context),
  foldEvents,
  endMarker: null,
  markers,
  modelMember: 'modelVersion',
  modelPaths: [['modelVersion']],
  textMembers: ['text'],
  countOutput,
  observe,
  failFrames,
  answerKey: 'candidates',
  observeAnswer,
};
