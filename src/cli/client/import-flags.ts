import * as v from 'valibot';
import { field, number } from '../../schema/fields.ts';

const flag = (description: string) => v.optional(field(v.boolean(), description), false);

const text = (description: string, expects: string, path = false) =>
  v.optional(
    field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(4096)), description, { expects, path }),
  );

/** Flags of `oriel models import`. */
export const importFlags = v.strictObject({
  provider: text(
    "the configuration's provider of the models; the only one if not given",
    'its name',
  ),
  from: text("the map's provider; the name or the kind of --provider if not given", 'its name'),
  models: text('only these models', 'a name or a pattern such as claude-*'),
  creditsPerUnit: v.optional(
    field(number(0.000001, 1_000_000), "credits for one unit of the map's currency, the US dollar"),
    1,
  ),
  update: flag('also change prices and limits of models that the configuration has'),
  dryRun: flag('show the changes, write nothing'),
  config: text('configuration; ORIEL_CONFIG, then oriel.yaml, if not given', 'a file', true),
  json: flag('print the changes as JSON'),
});
