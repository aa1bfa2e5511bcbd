import type { ComponentChildren } from 'preact';

/** A name and its value; one without a value is not shown. */
export type NamedFact = readonly [name: string, value: ComponentChildren | false];

interface FactListProps {
  readonly facts: readonly NamedFact[];
  readonly class: string;
}

/** Names with their values. */
export function FactList({ facts, class: className }: FactListProps) {
  return (
    <dl class={className}>
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** A short fact; one without a value is not shown. */
export type Fact = ComponentChildren | false;

/** Short facts in one line; those without a value are not shown. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return <p class="facts">{facts.map((fact, index) => fact && <span key={index}>{fact}</span>)}</p>;
}

interface FailureProps {
  readonly error: {
    readonly message: string;
    readonly code?: string | null;
    readonly type: string;
  };
  readonly children?: ComponentChildren;
}

/** Why a task or a request failed, with its code. */
export function Failure({ error, children }: FailureProps) {
  return (
    <div class="notice bad">
      <p>{error.message}</p>
      <Facts facts={[<code key="code">{error.code ?? error.type}</code>]} />
      {children}
    </div>
  );
}
