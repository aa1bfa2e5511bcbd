import { Empty } from '../../components/states.tsx';

export default function Requests() {
  return (
    <>
      <h1>Requests</h1>
      <Empty title="Not here yet" />
    </>
  );
}
