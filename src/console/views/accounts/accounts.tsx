import { Empty } from '../../components/states.tsx';

export default function Accounts() {
  return (
    <>
      <h1>Accounts &amp; keys</h1>
      <Empty title="Not here yet" />
    </>
  );
}
