import * as v from 'valibot';
import { flag, textFlag } from '../command/command.ts';

const json = flag('print the result as JSON');

export const listFlags = v.strictObject({ json });

export const pruneFlags = v.strictObject({
  used: textFlag('keep only the cassettes that these runs used', 'a file of serve --used', {
    path: true,
  }),
  json,
});

export const scanFlags = v.strictObject({
  config: textFlag('configuration whose keys are searched for; default oriel.yaml', 'a file', {
    path: true,
  }),
  json,
});
