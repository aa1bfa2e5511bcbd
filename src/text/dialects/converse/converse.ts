import type { Dialect } from '../dialect.ts';
import { messages } from '../messages/messages.ts';
import { ConverseDecoder } from './decode-events.ts';
import { encodeRequest } from './encode-request.ts';

const { counting, otherPaths, modelListing, keyHeader, withCacheMarks, ...others } = messages;
const { namesEndUser, prefillsAnswer, ...shared } = others;
const { topK, parallelToolCalls, ...settings } = messages.settings;

/** The format of AWS's Converse: that of messages in other words, which upstreams speak and clients do not. */
export const converse: Dialect = {
  ...shared,
  name: 'converse',
  label: 'converse',
  endpoints: [],
  settings,
  path: ({ model }, stream) =>
    `/model/${encodeURIComponent(model)}/converse${stream ? '-stream' : ''}`,
  headers: {},
  encodeRequest,
  forwardBody: encodeRequest,
  decodeEvents: (context, emit) => new ConverseDecoder(context, emit),
};
