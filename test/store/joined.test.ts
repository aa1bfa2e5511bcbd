import { expect, it } from 'vitest';
import { joined } from '../../src/store/joined.ts';

class Base {
  get now() {
    return 1;
  }
}

class Counter extends Base {
  readonly step = 2;
  #count = 0;

  add() {
    this.#count += this.step;
    return this.#count;
  }
}

class Named extends Base {
  name() {
    return 'a name';
  }
}

it('joins methods, fields and getters of several objects, also inherited ones', () => {
  const { add, name, step, now } = joined(new Counter(), new Named());
  expect([add(), add(), name(), step, now]).toEqual([2, 4, 'a name', 2, 1]);
});

it('rejects two different members of one name', () => {
  const other = { add: () => 0 };
  expect(() => joined(new Counter(), other)).toThrow('two parts of the store have a member add');
});
