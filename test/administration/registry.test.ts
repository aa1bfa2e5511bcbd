import { describe, expect, it } from 'vitest';
import { VERBS } from '../../src/administration/registry.ts';
import { administrationFlags } from '../../src/cli/administration-flags.ts';
import { fieldsOf } from '../../src/schema/fields.ts';

describe.each(VERBS.map((verb) => [`${verb.group} ${verb.name}`, verb] as const))(
  '%s',
  (_, { options, places }) => {
    const names = fieldsOf(options).map(({ name }) => name);

    it('takes by place only what it declares', () => {
      expect(names).toEqual(expect.arrayContaining([...places]));
    });

    it('has no flag that every command has', () => {
      const own = names.filter((name) => !places.includes(name));
      const common = fieldsOf(administrationFlags).map(({ name }) => name);
      expect(own.filter((name) => common.includes(name))).toEqual([]);
    });
  },
);

it('has every command once', () => {
  const names = VERBS.map(({ group, name }) => `${group} ${name}`);
  expect(new Set(names).size).toBe(names.length);
});
