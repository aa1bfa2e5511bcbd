import { any, type Check, LABELS, object, ROUTING, SAMPLING } from '../inspection.ts';
import { completionsRequest } from './request.ts';

/** The properties of a request; none of them names what is stored or fetched. */
export const inspect: Check = object({
  ...SAMPLING,
  ...LABELS,
  ...ROUTING,
  ...any(...Object.keys(completionsRequest.entries)),
  stream_options: object(any('include_usage')),
});
