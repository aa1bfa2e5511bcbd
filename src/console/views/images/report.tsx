import { useState } from 'preact/hooks';
import { CopyButton } from '../../components/copy.tsx';
import { SelectField } from '../../components/field.tsx';
import { formatPercent } from '../../components/format.ts';
import { Table } from '../../components/table.tsx';
import { type Colour, coloursOf, type Fact, factsOf, rgbOf } from './report.ts';

/** Characters of a value that are shown. All are copied. */
const MAX_SHOWN = 500;

/** The report of an image: a palette as swatches, everything else as a table. */
export function Report({ data }: { readonly data: Readonly<Record<string, unknown>> }) {
  const colours = coloursOf(data);
  if (colours) return <Palette colours={colours} />;
  const facts = factsOf(data);
  const picture = facts.find(({ text }) => text.startsWith('data:image/'));
  return (
    <div class="stack">
      {picture && <img class="placeholder" src={picture.text} alt="Placeholder" />}
      <Table
        caption="What was found"
        rows={facts}
        keyOf={({ label }) => label}
        columns={[
          ['Property', ({ label }) => label],
          ['Value', FactValue],
          ['Copy', ({ label, text, isLong }) => isLong && <CopyButton text={text} label={label} />],
        ]}
      />
    </div>
  );
}

function FactValue({ text }: Fact) {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return (
    <bdi class="value">
      {/^#[0-9a-f]{6}$/i.test(text) && <Swatch hex={text} />}
      {shown}
    </bdi>
  );
}

function Swatch({ hex }: { readonly hex: string }) {
  return <span class="swatch" style={{ backgroundColor: hex }} />;
}

const NOTATIONS = [
  ['hex', 'Hex: #1d4e89'],
  ['rgb', 'RGB: rgb(29 78 137)'],
] as const;

function Palette({ colours }: { readonly colours: readonly Colour[] }) {
  const [notation, setNotation] = useState('hex');
  const textOf = ({ hex }: Colour) => (notation === 'hex' ? hex : rgbOf(hex));
  return (
    <div class="stack">
      <div class="shares">
        {colours.map(({ hex, proportion }) => (
          <span key={hex} style={{ backgroundColor: hex, flexGrow: proportion }} />
        ))}
      </div>
      <ul class="swatches" aria-label="Colours">
        {colours.map((colour) => (
          <li key={colour.hex} class="row">
            <Swatch hex={colour.hex} />
            <code>{textOf(colour)}</code>
            <span class="muted">{formatPercent(colour.proportion)}</span>
            <CopyButton text={textOf(colour)} label={textOf(colour)} />
          </li>
        ))}
      </ul>
      <div class="row notation">
        <SelectField label="Values as" value={notation} choices={NOTATIONS} onValue={setNotation} />
        <CopyButton text={colours.map(textOf).join('\n')} label="all colours" />
      </div>
    </div>
  );
}
